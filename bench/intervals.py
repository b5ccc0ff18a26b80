"""How often intervals of sampled counts hold the truth, and how wide they are, on made-up programs.

    bench/intervals.py [--sites N]

No program runs: sites with known blocks are sampled by chance at 512 KiB, and what follows from the
samples is computed as readers do it (src/heapglass/model). For each kind of program and site: how
often two standard errors and the interval hold the number of blocks; the median width of the
interval, compared with four standard errors and with the truth. docs/decisions/0018-intervals.md
has the figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from heapglass.model.tables import F64, I64
from heapglass.model.unseen import SizeClasses, unseen_blocks
from heapglass.model.weights import SIDE, sample_margins, sample_weights

INTERVAL = 512 << 10
BUCKETS = 48
MOST_BLOCKS = 200_000
LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Site:
    """Some sizes, and how many blocks there are of each."""

    kind: str
    sizes: I64
    counts: I64


@dataclass(frozen=True, slots=True)
class Sampled:
    """What is known of sites: a row for each."""

    blocks: F64  # by bucket of size
    variances: F64
    heaviest: F64
    largest: I64
    samples: I64


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one estimate."""

    is_in_errors: bool
    is_in_interval: bool
    width: float
    errors: float  # four standard errors, or as 95 % of the normal distribution has it
    truth: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/intervals.py")
    parser.add_argument("--sites", type=int, default=3000, metavar="N", help="of each program")
    options = parser.parse_args()
    print(
        f"{'program':28} {'site':12} {'±2 errors':>10} {'interval':>9} {'/errors':>8} {'/truth':>7}"
    )
    for name, make in PROGRAMS.items():
        show(name, list(outcomes(make, options.sites)))
    return 0


def show(name: str, found: Sequence[tuple[str, Outcome]]) -> None:
    for kind in dict.fromkeys(kind for kind, _ in found):
        those = [one for its_kind, one in found if its_kind == kind]
        print(
            f"{name:28} {kind:12}",
            f"{np.mean([one.is_in_errors for one in those]):10.1%}",
            f"{np.mean([one.is_in_interval for one in those]):9.1%}",
            f"{np.median([one.width / max(one.errors, 1.0) for one in those]):8.2f}",
            f"{np.median([one.width / one.truth for one in those]):7.2f}",
        )


def outcomes(make: Callable[[Generator], list[Site]], sites: int) -> Iterator[tuple[str, Outcome]]:
    random = np.random.default_rng(1)
    done = 0
    while done < sites:
        program = make(random)
        done += len(program)
        yield from judge(program, sample(program, random))


def sample(program: Sequence[Site], random: Generator) -> Sampled:
    shape = (len(program), BUCKETS)
    blocks, variances = np.zeros(shape), np.zeros(shape)
    heaviest, largest = np.ones(len(program)), np.zeros(len(program), np.int64)
    samples = np.zeros(len(program), np.int64)
    for row, site in enumerate(program):
        weights = sample_weights(site.sizes, np.full(len(site.sizes), INTERVAL))
        taken = random.binomial(site.counts, 1 / weights)
        bucket = np.frexp(site.sizes.astype(np.float64))[1]
        np.add.at(blocks[row], bucket, taken * weights)
        np.add.at(variances[row], bucket, taken * weights * (weights - 1))
        if taken.any():
            heaviest[row] = weights[taken > 0].max()
            largest[row] = site.sizes[taken > 0].max()
        samples[row] = taken.sum()
    return Sampled(blocks, variances, heaviest, largest, samples)


def judge(program: list[Site], sampled: Sampled) -> Iterator[tuple[str, Outcome]]:
    """Of the sites that were sampled at all: no others are listed."""
    truth = np.array([site.counts.sum() for site in program])
    values, errors = sampled.blocks.sum(axis=1), np.sqrt(sampled.variances.sum(axis=1))
    low, high = intervals(sampled, values, float(truth.sum()))
    for row in np.flatnonzero(sampled.samples):
        yield (
            program[row].kind,
            Outcome(
                bool(abs(values[row] - truth[row]) <= 2 * errors[row] + 0.5),
                bool(low[row] - 0.5 <= truth[row] <= high[row] + 0.5),
                float(high[row] - low[row]),
                float(2 * SIDE * errors[row]),
                int(truth[row]),
            ),
        )


def intervals(sampled: Sampled, values: F64, total: float) -> tuple[F64, F64]:
    """As recording/tables/margins.py makes them."""
    step = sampled.heaviest - 1
    variance = sampled.variances.sum(axis=1)
    below, above = sample_margins(values, variance, step, step * sampled.heaviest)
    classes = SizeClasses(
        sampled.blocks, sampled.variances, sampled.largest, np.full(len(values), INTERVAL)
    )
    above = np.hypot(above, unseen_blocks(classes, total - values.sum()))
    low = np.maximum(values - below, sampled.samples)
    rest = total - (low.sum() - low)
    return low, np.maximum(values, np.minimum(values + above, rest))


def between(random: Generator, low: float, high: float) -> float:
    """Any order of magnitude is as likely as another."""
    return float(np.exp(random.uniform(np.log(low), np.log(high))))


def two_sizes(kind: str, small: tuple[int, int], large: tuple[int, int]) -> Site:
    """Each a size and a count."""
    sizes, counts = zip(small, large, strict=True)
    return Site(kind, np.array(sizes), np.array(counts))


def as_reported(random: Generator) -> Site:
    small = int(random.integers(8, 65)), int(random.integers(4000, 9000))
    large = int(random.integers(4096, 65536)), int(random.integers(200, 900))
    return two_sizes("as reported", small, large)


def any_two(random: Generator) -> Site:
    size = int(between(random, 1, 4096))
    large = min(int(size * between(random, 2, 1e5)), LARGEST)
    count = int(between(random, 3, 300) * max(1.0, INTERVAL / large))
    small = size, int(between(random, 100, 20_000))
    return two_sizes("two sizes", small, (large, min(count, MOST_BLOCKS)))


def spread_out(random: Generator) -> Site:
    ends = np.log(between(random, 1, 256)), np.log(between(random, 4096, 1e6))
    count = int(between(random, 500, 20_000))
    sizes, counts = np.unique(
        np.exp(random.uniform(*ends, count)).astype(np.int64), return_counts=True
    )
    return Site("spread", sizes, counts)


def rare_large(random: Generator) -> Site:
    size = int(between(random, 16, 256))
    small = size, int(between(random, 1, 20) * INTERVAL / size)
    large = int(between(random, 1e5, LARGEST)), int(random.integers(1, 10))
    return two_sizes("rare large", small, large)


def one_size(random: Generator) -> Site:
    size = between(random, 8, 1e6)
    count = max(1, int(between(random, 0.5, 200) / -np.expm1(-size / INTERVAL)))
    return Site("one size", np.array([int(size)]), np.array([count]))


Maker = Callable[[Generator], Site]


def of_sites(count: int, *makers: Maker) -> Callable[[Generator], list[Site]]:
    return lambda random: [makers[number % len(makers)](random) for number in range(count)]


PROGRAMS = {
    "16 as reported": of_sites(16, as_reported),
    "1 of two sizes": of_sites(1, any_two),
    "3 of two sizes": of_sites(3, any_two),
    "16 of two sizes": of_sites(16, any_two),
    "100 of two sizes": of_sites(100, any_two),
    "16 spread out": of_sites(16, spread_out),
    "16 with rare large ones": of_sites(16, rare_large),
    "1 of one size": of_sites(1, one_size),
    "16 of one size each": of_sites(16, one_size),
    "200 of one size each": of_sites(200, one_size),
    "8 of one size, 8 of two": of_sites(16, one_size, any_two),
    "50 of one size, 50 of two": of_sites(100, one_size, any_two),
    "8 of each of five kinds": of_sites(40, one_size, any_two, spread_out, rare_large, as_reported),
}


if __name__ == "__main__":
    raise SystemExit(main())
