"""Estimates against the truth, over many seeds: no bias by size, lifetime or thread, and errors
that are what they claim to be. Seeds are fixed, so each run of these tests is the same."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.counters import by_name
from harness.estimates import by_bucket, check_errors
from harness.names import function_names, site_name
from harness.programs import program
from harness.running import run, under_heapglass
from heapglass.analysis.blocks import CLASSIC_SIZES, BlockClass, classify
from heapglass.model import HeapSource, Histogram, LiveUnit, Totals
from heapglass.recording import open_recording

ESTIMATES = program("estimates")
SEEDS = 200
INTERVAL = 16 << 10
SHORT_INTERVAL = 1 << 10  # for classes, so that each has samples enough
QUANTITIES = ("allocations", "bytes_allocated", "live_blocks", "live_bytes")
FREED = {"frees": ("allocations", "live_blocks"), "bytes_freed": ("bytes_allocated", "live_bytes")}
ESTIMATED = (*QUANTITIES, *FREED)
SITES = ("site_tiny", "site_small", "site_mixed", "site_large", "site_grown", "site_thread")

Truth = dict[str, dict[str, int]]  # site -> quantity -> value


@dataclass(frozen=True, slots=True)
class Sampled:
    """What one run said."""

    truth: Truth
    values: Truth
    variances: dict[str, dict[str, float]]
    totals: Totals
    sizes: Histogram  # of all allocations
    classes: tuple[BlockClass, ...]  # live blocks by size


def recorded(directory: Path, seed: int, interval: int = INTERVAL) -> Sampled:
    options = {"HEAPGLASS_SAMPLE": str(interval), "HEAPGLASS_SEED": str(seed)}
    name = {"HEAPGLASS_OUT": f"{seed}.heapglass", "HEAPGLASS_SNAPSHOT": "0"}
    outcome = run(ESTIMATES.argv(), directory, under_heapglass(**options, **name))
    assert outcome.status == 0, outcome
    truth = {}
    for line in outcome.stdout.decode().splitlines():
        site, *numbers = line.split()
        truth[site] = dict(zip(QUANTITIES, map(int, numbers), strict=True))
        freed = {
            name: truth[site][all_] - truth[site][live] for name, (all_, live) in FREED.items()
        }
        truth[site] |= freed
    path = directory / f"{seed}.heapglass"
    with open_recording(path) as source:
        values, variances = estimates(source)
        found = Sampled(
            truth, values, variances, source.totals, source.size_histogram(), live_classes(source)
        )
    path.unlink()
    return found


def live_classes(source: HeapSource) -> tuple[BlockClass, ...]:
    blocks = source.blocks()
    return classify(blocks.size, CLASSIC_SIZES, blocks)


def estimates(source: HeapSource) -> tuple[Truth, dict[str, dict[str, float]]]:
    values: Truth = {site: dict.fromkeys((*ESTIMATED, "temporary"), 0) for site in SITES}
    variances = {site: dict.fromkeys((*ESTIMATED, "temporary"), 0.0) for site in SITES}
    table = source.sites()
    for row, site in enumerate(table.id.tolist()):
        name = site_name(function_names(source, site))
        if name not in values:
            continue
        for quantity in values[name]:
            values[name][quantity] += int(getattr(table, quantity)[row])
            variances[name][quantity] += float(getattr(table, f"{quantity}_error")[row]) ** 2
    return values, variances


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Sampled]:
    directory = tmp_path_factory.mktemp("seeds")
    return [recorded(directory, seed) for seed in range(1, SEEDS + 1)]


@pytest.mark.parametrize("quantity", ESTIMATED)
@pytest.mark.parametrize("site", SITES)
def test_no_bias(runs: list[Sampled], site: str, quantity: str) -> None:
    """The mean over all seeds is within four of its own standard errors of the truth."""
    truth = runs[0].truth[site][quantity]
    mean = sum(r.values[site][quantity] for r in runs) / SEEDS
    error = math.sqrt(sum(r.variances[site][quantity] for r in runs) / SEEDS / SEEDS)
    assert error > 0
    assert abs(mean - truth) <= 4 * error, f"mean {mean:.0f}, truth {truth}, error {error:.0f}"


@pytest.mark.parametrize("quantity", ESTIMATED)
@pytest.mark.parametrize("site", SITES)
def test_stated_errors_are_true(runs: list[Sampled], site: str, quantity: str) -> None:
    """The stated variance is, on average, how far estimates really are off, squared."""
    truth = runs[0].truth[site][quantity]
    squares = [(r.values[site][quantity] - truth) ** 2 for r in runs]
    stated = sum(r.variances[site][quantity] for r in runs) / SEEDS
    assert 0.6 < sum(squares) / SEEDS / stated < 1.6


def test_coverage(runs: list[Sampled]) -> None:
    """Two standard errors hold the truth as often as they should, for sums with many samples: 95 %,
    give or take four standard deviations of that count."""
    for quantity in ("bytes_allocated", "live_bytes"):
        truth = sum(runs[0].truth[site][quantity] for site in SITES)
        inside = 0
        for r in runs:
            value = sum(r.values[site][quantity] for site in SITES)
            error = math.sqrt(sum(r.variances[site][quantity] for site in SITES))
            inside += abs(value - truth) <= 1.96 * error
        expected, deviation = 0.95 * SEEDS, math.sqrt(0.95 * 0.05 * SEEDS)
        assert expected - 4 * deviation <= inside <= expected + 4 * deviation


@pytest.fixture(scope="module")
def dense_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Sampled]:
    directory = tmp_path_factory.mktemp("dense")
    return [recorded(directory, seed, SHORT_INTERVAL) for seed in range(1, SEEDS + 1)]


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HeapSource]:
    directory = tmp_path_factory.mktemp("exact")
    outcome = run(ESTIMATES.argv(), directory, under_heapglass(HEAPGLASS_OUT="exact.heapglass"))
    assert outcome.status == 0
    with open_recording(directory / "exact.heapglass") as source:
        yield source


def test_live_blocks_by_size(dense_runs: list[Sampled], exact: HeapSource) -> None:
    runs = dense_runs
    truth = live_classes(exact)
    assert all(one.blocks_error == one.bytes_error == 0 for one in truth)
    blocks = [[(float(one.blocks), one.blocks_error) for one in r.classes] for r in runs]
    check_errors([one.blocks for one in truth], blocks)
    sizes = [[(float(one.size_bytes), one.bytes_error) for one in r.classes] for r in runs]
    check_errors([one.size_bytes for one in truth], sizes)


def test_allocations_by_size(dense_runs: list[Sampled], exact: HeapSource) -> None:
    """Sites here have sizes in many buckets, and what their samples stand for differs by a
    hundred times."""
    truth = exact.size_histogram()
    assert truth.errors is None
    check_errors(truth.counts.tolist(), [by_bucket(r.sizes) for r in dense_runs])


def test_temporary_blocks(dense_runs: list[Sampled], exact: HeapSource) -> None:
    """At one of the sites what is temporary depends on sizes."""
    values, variances = estimates(exact)
    assert not any(variances[site]["temporary"] for site in SITES)
    truth = {site: values[site]["temporary"] for site in SITES if values[site]["temporary"]}
    found = [
        [
            (float(r.values[site]["temporary"]), math.sqrt(r.variances[site]["temporary"]))
            for site in truth
        ]
        for r in dense_runs
    ]
    check_errors(list(truth.values()), found)


def test_totals_are_exact(runs: list[Sampled], exact: HeapSource) -> None:
    """The same for every seed, and those of an exact recording."""
    truth = exact.totals
    for r in runs:
        assert r.truth == runs[0].truth
        got = r.totals
        assert got.live_unit is LiveUnit.USABLE
        assert (got.allocations, got.frees, got.reallocs) == (
            truth.allocations,
            truth.frees,
            truth.reallocs,
        )
        assert got.bytes_allocated == truth.bytes_allocated
        assert got.live_bytes == got.usable_live_bytes == truth.usable_live_bytes
        assert got.peak_bytes >= got.live_bytes


def test_large_blocks_are_all_recorded(tmp_path: Path) -> None:
    """At a short interval most blocks are certain, and those have no error."""
    options = {"HEAPGLASS_SAMPLE": "256", "HEAPGLASS_OUT": "x.heapglass"}
    outcome = run(ESTIMATES.argv(), tmp_path, under_heapglass(**options))
    truth = dict(line.split(maxsplit=1) for line in outcome.stdout.decode().splitlines())
    with open_recording(tmp_path / "x.heapglass") as source:
        counters = by_name(source)["site_large"]
        assert counters["allocations"] == int(truth["site_large"].split()[0])
        assert counters["live_bytes"] == int(truth["site_large"].split()[3])
        table = source.sites()
        assert (table.allocations_error[table.smallest > 5 * 256] == 0).all()
