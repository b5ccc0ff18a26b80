"""Scripts for tests/programs/driver.c: made up by hypothesis or by chance, run, read back.

A script is a list of `Step`s; `events_of` turns the driver's log of it into events of the model,
whose sites are (site function, frames of `descend` above it).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from harness.comparison import KeyOf
from harness.model import ADDRESS_BITS, Event, Kind
from harness.names import function_names, site_name
from heapglass.model import HeapSource

SITES = 12


class Step(NamedTuple):
    thread: int
    kind: str  # m(alloc) c(alloc) r(ealloc) a(ligned) f(ree) b(arrier)
    slot: int
    site: int
    depth: int
    size: int
    alignment: int


# Around where the ledger changes its ways (64 KiB), where glibc does, and where calls fail.
_SIZES = [0, 1, 24, 25, 1000, 65535, 65536, 65537, 131072, 140000, 3 << 20, 1 << 62]


def steps(threads: int) -> st.SearchStrategy[Step]:
    return st.builds(
        Step,
        st.integers(0, threads - 1),
        st.sampled_from("mmmcrrrafff"),
        st.integers(0, 11),
        st.integers(0, SITES - 1),
        st.integers(0, 5),
        st.sampled_from(_SIZES) | st.integers(0, 300),
        st.sampled_from([8, 16, 64, 4096, 1 << 16, 24]),
    )


def any_size(chance: random.Random) -> int:
    return chance.choice([chance.randrange(100), chance.randrange(3000), chance.choice(_SIZES)])


def random_steps(
    seed: int,
    count: int,
    threads: int,
    size: Callable[[random.Random], int] = any_size,
    slots: int = 400,
) -> list[Step]:
    """Many steps, by chance, over many slots: heaps with a life of their own."""
    chance = random.Random(seed)  # noqa: S311
    return [
        Step(
            thread=chance.randrange(threads),
            kind=chance.choice("mmmcrrraffff"),
            slot=chance.randrange(slots),
            site=chance.randrange(SITES),
            depth=chance.choice([0, 1, 2, 40]),
            size=size(chance),
            alignment=chance.choice([8, 16, 64, 4096]),
        )
        for _ in range(count)
    ]


def with_barriers(script: Sequence[Step], threads: int, rounds: int) -> list[Step]:
    """The script for free-running threads: in each round a slot is one thread's alone, and
    between rounds, at a barrier, the slots change hands."""
    length = -(-len(script) // rounds)
    result = []
    for number in range(rounds):
        part = script[number * length : (number + 1) * length]
        result += [step._replace(thread=(step.slot + number) % threads) for step in part]
        result += [Step(thread, "b", 0, 0, 0, 0, 0) for thread in range(threads)]
    return result


def written(script: Sequence[Step], path: Path) -> str:
    path.write_text("".join(" ".join(map(str, step)) + "\n" for step in script))
    return str(path)


def events_of(script: Sequence[Step], log: Path) -> Iterator[Event]:
    """What the driver's log says was done, in script order."""
    in_slot: dict[int, int] = {}
    for number, line in enumerate(log.read_text().splitlines()):
        step = script[number]
        _, old, new, usable, tid, before, after = map(int, line.split())
        if (kind := _kind(step, old, new)) is None:
            continue
        used = in_slot.pop(step.slot) if step.kind in "rf" and old else 0
        made = new and new | number << ADDRESS_BITS
        if made:
            in_slot[step.slot] = made
        site = (f"site_{step.site}", step.depth + 1)
        size = 0 if kind is Kind.FREE else step.size
        yield Event(kind, tid, used, made, size, usable, site, before, after)


def _kind(step: Step, old: int, new: int) -> Kind | None:
    """What the call came to; None when it did nothing."""
    if step.kind == "b" or (step.kind == "f" and not old):
        return None
    if step.kind == "f" or (step.kind == "r" and old and not step.size):
        return Kind.FREE
    if not new:
        return None
    return Kind.RESIZE if step.kind == "r" and old else Kind.ALLOCATE


def site_keys(source: HeapSource) -> KeyOf:
    """The same names for the recording's sites, by way of nm; None for what the C library
    allocates for itself."""

    @functools.cache
    def key_of(site: int) -> tuple[str, int] | None:
        names = function_names(source, site)
        name = site_name(names)
        return (name, names.count("descend")) if name else None

    return key_of
