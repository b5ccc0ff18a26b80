"""Lifetimes, ages, temporary blocks and reallocs of sampled blocks against the truth, over many
seeds, at sites where all of these depend on the size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from harness.estimates import Estimate, check_errors
from harness.names import function_names, site_name
from harness.programs import program
from harness.running import run, under_heapglass
from heapglass.analysis.blocks import ages_ns, classify
from heapglass.model import HeapSource
from heapglass.recording import open_recording

PROGRAM = program("lives_by_size")
SEEDS = 100
INTERVAL = 1 << 10
SITE = "site_lived"
LONG_NS = 8 << 20  # what the program waits at first is more
OLD_NS = 24 << 20  # as is what it waits in the end
YOUNG_MS = 12  # when a busy machine keeps it from making the young ones for longer, some are old
TRIES = 50
OUTCOMES = ("temporary", "realloc_in_place", "realloc_moved")


@dataclass(frozen=True, slots=True)
class Recorded:
    outcomes: Mapping[str, Estimate]
    short: Estimate
    long: Estimate
    young: tuple[Estimate, Estimate]  # blocks and bytes
    old: tuple[Estimate, Estimate]


def recorded(directory: Path, name: str, **options: str) -> Recorded:
    path = directory / f"{name}.heapglass"
    environment = under_heapglass(HEAPGLASS_OUT=str(path), HEAPGLASS_SNAPSHOT="0", **options)
    for _ in range(TRIES):
        outcome = run(PROGRAM.argv(), directory, environment)
        assert outcome.status == 0, outcome
        with open_recording(path) as source:
            found = read(source)
        path.unlink()
        if int(outcome.stdout) <= YOUNG_MS:
            return found
    pytest.fail(f"{TRIES} times in a row it was kept from its work for {YOUNG_MS} ms")


def read(source: HeapSource) -> Recorded:
    table = source.sites()
    outcomes = {}
    for name in OUTCOMES:
        error = math.sqrt(float((getattr(table, f"{name}_error") ** 2).sum()))
        outcomes[name] = float(getattr(table, name).sum()), error
    mine = [s for s in table.id.tolist() if site_name(function_names(source, s)) == SITE]
    freed = max(mine, key=lambda site: int(table.frees[table.id == site][0]))
    histogram = source.lifetime_histogram(freed)
    first_long = int(LONG_NS // histogram.unit).bit_length()
    errors = np.zeros(len(histogram.counts)) if histogram.errors is None else histogram.errors
    parts = [
        (float(histogram.counts[part].sum()), math.sqrt(float((errors[part] ** 2).sum())))
        for part in (slice(None, first_long), slice(first_long, None))
    ]
    return Recorded(outcomes, *parts, *ages(source))


def ages(source: HeapSource) -> Iterator[tuple[Estimate, Estimate]]:
    """Of what is left, before the youngest block: when the program ends is not in its hands."""
    blocks = source.blocks()
    age = ages_ns(blocks, int(blocks.birth_ns.max()))
    for one in classify(age, (0, OLD_NS), blocks):
        yield (one.blocks, one.blocks_error), (one.size_bytes, one.bytes_error)


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("exact"), "exact")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    directory = tmp_path_factory.mktemp("seeds")
    options = {"HEAPGLASS_SAMPLE": str(INTERVAL)}
    return [
        recorded(directory, f"{seed}", HEAPGLASS_SEED=str(seed), **options)
        for seed in range(1, SEEDS + 1)
    ]


def test_lifetimes(runs: list[Recorded], exact: Recorded) -> None:
    assert exact.short[1] == exact.long[1] == 0
    assert min(exact.short[0], exact.long[0]) >= 1000
    check_errors(
        [int(exact.short[0]), int(exact.long[0])], [[r.short, r.long] for r in runs], at_least=2
    )


def test_ages(runs: list[Recorded], exact: Recorded) -> None:
    truth = [int(value) for value, _ in (*exact.young, *exact.old)]
    assert min(truth) >= 1000
    check_errors(truth, [[*r.young, *r.old] for r in runs], at_least=4)


@pytest.mark.parametrize("name", OUTCOMES)
def test_outcomes(runs: list[Recorded], exact: Recorded, name: str) -> None:
    truth, error = exact.outcomes[name]
    assert truth >= 1000
    assert error == 0
    check_errors([int(truth)], [[r.outcomes[name]] for r in runs], at_least=1)


def test_errors_at_snapshots_are_in_proportion(tmp_path: Path) -> None:
    """Events before the wait and after it are in different snapshots."""
    path = tmp_path / "x.heapglass"
    options = {"HEAPGLASS_SAMPLE": "4k", "HEAPGLASS_SNAPSHOT": "0.005"}
    outcome = run(PROGRAM.argv(), tmp_path, under_heapglass(HEAPGLASS_OUT=str(path), **options))
    assert outcome.status == 0
    with open_recording(path) as source:
        table, history = source.sites(), list(source.snapshots())
    assert history
    for snapshot in history:
        errors = snapshot.errors
        assert errors is not None
        row = np.searchsorted(table.id, snapshot.site)
        share = snapshot.live_bytes / table.bytes_allocated[row]
        assert errors.live_bytes == pytest.approx(table.bytes_allocated_error[row] * share**0.5)
        share = snapshot.allocations / table.allocations[row]
        assert errors.allocations == pytest.approx(table.allocations_error[row] * share**0.5)
    assert any(one.errors and one.errors.live_bytes.any() for one in history)
