"""Made-up runs, read back, against an oracle that knows nothing of the format."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heapglass.model import SiteTable
from heapglass.recording import open_recording
from recordings.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from heapglass.model import HeapSource
    from heapglass.recording.reader import Recording
    from recordings.oracle import Stack

_COLUMNS = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "live_blocks",
    "live_bytes",
    "temporary",
    "largest",
    "smallest",
    "realloc_in_place",
    "realloc_moved",
)
_PEAK = ("peak_blocks", "peak_bytes")

runs = given(seed=st.integers(0, 1 << 32), events=st.integers(1, 120))
few = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _stack_of(recording: HeapSource, site: int) -> Stack:
    stack = recording.stack(site)
    return tuple((f.address, f.module) for f in stack.frames), int(stack.cut or 0)


def _rows(
    recording: HeapSource, table: SiteTable, columns: tuple[str, ...]
) -> dict[Stack, dict[str, int]]:
    rows: dict[Stack, dict[str, int]] = {}
    for row, site in enumerate(table.id.tolist()):
        values = {name: int(getattr(table, name)[row]) for name in columns}
        assert rows.setdefault(_stack_of(recording, site), values) is values, "a stack twice"
    return rows


def _expected(
    rows: dict[Stack, dict[str, int]], columns: tuple[str, ...]
) -> dict[Stack, dict[str, int]]:
    return {stack: {name: row[name] for name in columns} for stack, row in rows.items()}


def _record(scenario: Scenario, directory: Path) -> Recording:
    path = directory / "run.heapglass"
    return open_recording(scenario.recorder.writer(end_ns=scenario.now + 1).write(path))


@runs
@few
def test_sites(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    with _record(scenario, tmp_path) as recording:
        table = recording.sites()
        columns = (*_COLUMNS, *_PEAK)
        expected = _expected(scenario.oracle.sites(), columns)
        assert _rows(recording, table, columns) == expected
        assert int(table.peak_bytes.sum()) == scenario.oracle.peak
        assert {len(getattr(table, f.name)) for f in fields(SiteTable)} == {len(expected)}


@runs
@few
def test_sites_by_shard(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    with _record(scenario, tmp_path) as recording:
        tables = recording.sites_by_shard()
        for shard in set(scenario.shards):
            threads = {t for t, of in enumerate(scenario.shards) if of == shard}
            expected = scenario.oracle.sites(threads)
            assert (shard in tables) == bool(expected)
            if expected:
                rows = _rows(recording, tables[shard], _COLUMNS)
                assert rows == _expected(expected, _COLUMNS)


@runs
@few
def test_histograms(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    with _record(scenario, tmp_path) as recording:
        assert recording.size_histogram().counts.tolist() == scenario.oracle.sizes()
        assert recording.lifetime_histogram().counts.tolist() == scenario.oracle.lifetimes()
        for site in recording.sites().id.tolist():
            stack = _stack_of(recording, site)
            sizes, lifetimes = recording.size_histogram(site), recording.lifetime_histogram(site)
            assert sizes.counts.tolist() == scenario.oracle.sizes(stack)
            assert lifetimes.counts.tolist() == scenario.oracle.lifetimes(stack)
            assert (sizes.unit, lifetimes.unit) == (1, 1 << 20)


@runs
@few
def test_blocks(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    with _record(scenario, tmp_path) as recording:
        blocks = recording.blocks()
        found = {
            address: (size, _stack_of(recording, site), birth)
            for address, size, site, birth in zip(
                blocks.address.tolist(),
                blocks.size.tolist(),
                blocks.site.tolist(),
                blocks.birth_ns.tolist(),
                strict=True,
            )
        }
        shown = set(recording.sites().id.tolist())
        assert set(blocks.site.tolist()) <= shown
    expected = {
        address: (block.size, block.stack, block.birth_ns >> 20 << 20)
        for address, block in scenario.oracle.live.items()
    }
    assert blocks.address.tolist() == sorted(expected)
    assert found == expected


@runs
@few
def test_timeline(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    with _record(scenario, tmp_path) as recording:
        timeline = recording.timeline()
    names = [f.name for f in fields(timeline)]
    rows = list(zip(*(getattr(timeline, name).tolist() for name in names), strict=True))
    assert rows == [tuple(getattr(p, name) for name in names) for p in scenario.points]


@runs
@few
def test_snapshots(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    names = ("live_blocks", "live_bytes", "allocations", "bytes_allocated")
    with _record(scenario, tmp_path) as recording:
        snapshots = list(recording.snapshots())
        assert [s.time_ns for s in snapshots] == [m.time_ns for m in scenario.snapshots]
        for snapshot, moment in zip(snapshots, scenario.snapshots, strict=True):
            rows = {
                _stack_of(recording, site): {n: int(getattr(snapshot, n)[row]) for n in names}
                for row, site in enumerate(snapshot.site.tolist())
            }
            assert len(rows) == len(snapshot.site)
            assert rows == _expected(moment.sites, names)


@runs
@few
def test_totals_and_threads(tmp_path: Path, seed: int, events: int) -> None:
    scenario = Scenario(seed).run(events)
    oracle = scenario.oracle
    with _record(scenario, tmp_path) as recording:
        totals, threads = recording.totals, recording.threads
    came = [e for e in oracle.events if e.sign > 0]
    gone = [e for e in oracle.events if e.sign < 0]
    assert (totals.allocations, totals.frees) == (len(came), len(gone))
    assert totals.bytes_allocated == sum(e.size for e in came)
    assert totals.bytes_freed == sum(e.size for e in gone)
    assert totals.live_blocks == len(oracle.live)
    assert totals.live_bytes == sum(block.size for block in oracle.live.values())
    assert (totals.peak_bytes, totals.peak_time_ns) == (oracle.peak, oracle.peak_ns)
    assert totals.temporary == sum(e.is_temporary for e in oracle.events)
    assert totals.reallocs == sum(e.is_resize for e in came)
    assert [t.shard for t in threads] == list(scenario.shards)
    for number, thread in enumerate(threads):
        assert thread.name == f"worker-{number}"
        assert thread.allocations == sum(e.at.thread == number for e in came)
        assert thread.bytes_freed == sum(e.size for e in gone if e.at.thread == number)


@pytest.mark.parametrize("seed", range(3))
def test_the_runs_are_not_empty(seed: int) -> None:
    """The comparisons above would be worth nothing if these things never happened."""
    scenario = Scenario(seed).run(120)
    recorder, oracle = scenario.recorder, scenario.oracle
    assert len(recorder.sites) - 2 > len(oracle.sites()), "no stack has two sites"
    assert len(recorder.modules) > 3
    assert len(recorder.histograms) > 1
    assert any(line["epoch"] not in (0, recorder.epoch) for line in recorder.lines.values())
    assert any(line["allocations"] < line["frees"] for line in recorder.lines.values())
    assert any(e.is_temporary for e in oracle.events)
    assert any(e.is_in_place for e in oracle.events)
    assert {block.size >= 1 << 16 for block in oracle.live.values()} == {True, False}
    assert any(address >= 1 << 47 for address in oracle.live)
    assert any(a % 32 for a, b in oracle.live.items() if b.size < 1 << 16)
    assert scenario.points
    assert len(scenario.snapshots) > 1
