"""A recording made of another source says what that source says."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pytest

from heapglass.convert.buckets import Buckets
from heapglass.convert.recording import birth_codes, write_recording
from heapglass.errors import ExportError
from heapglass.model import FrameAddress, HeapSource, ProcessState, SiteTable, Stack
from heapglass.recording import open_recording
from heapglass.recording.tables.ledger import birth_ns
from heapglass.textlog.log import replay_log
from recordings.made_log import MadeLog
from recordings.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from heapglass.recording.reader import Recording


def convert(source: HeapSource, path: Path) -> Recording:
    write_recording(source, path)
    return open_recording(path)


def log_heap(seed: int, *, threads: int = 3) -> HeapSource:
    return replay_log("log", [MadeLog(seed, threads).run(400).text()]).heaps[0]


def by_path(source: HeapSource, site: int) -> tuple[tuple[int, str], ...]:
    """The stack in words that do not depend on how modules are numbered."""
    frames = source.stack(site).frames
    paths = [source.modules[frame.module].path if frame.module >= 0 else "" for frame in frames]
    return tuple((frame.address, path) for frame, path in zip(frames, paths, strict=True))


def rows(source: HeapSource, table: SiteTable, *but: str) -> dict[object, dict[str, int]]:
    """By stack, all columns `but` some."""
    names = [field.name for field in fields(SiteTable) if field.name not in ("id", *but)]
    return {
        by_path(source, site): {name: int(getattr(table, name)[row]) for name in names}
        for row, site in enumerate(table.id.tolist())
    }


@pytest.mark.parametrize("seed", range(5))
def test_sites_of_a_log(seed: int, tmp_path: Path) -> None:
    heap = log_heap(seed)
    with convert(heap, tmp_path / "out") as recording:
        assert rows(recording, recording.sites()) == rows(heap, heap.sites())
        shards, expected = recording.sites_by_shard(), heap.sites_by_shard()
        assert shards.keys() == expected.keys()
        for shard, table in expected.items():
            # A recording knows when a site was first seen, but not in which shard.
            found = rows(recording, shards[shard], "first_seen_ns")
            assert found == rows(heap, table, "first_seen_ns")


def test_everything_else_of_a_log(tmp_path: Path) -> None:
    heap = log_heap(7)
    with convert(heap, tmp_path / "out") as recording:
        assert recording.totals == heap.totals
        assert recording.losses == heap.losses
        assert list(recording.threads) == list(heap.threads)
        assert recording.process.state is ProcessState.EXITED
        assert recording.process.executable == heap.process.executable
        assert recording.process.duration_ns == heap.process.duration_ns
        found, expected = recording.blocks(), heap.blocks()
        assert found.address.tolist() == expected.address.tolist()
        assert found.size.tolist() == expected.size.tolist()
        assert found.birth_ns.tolist() == (expected.birth_ns >> 20 << 20).tolist()
        timeline = recording.timeline()
        assert timeline.time_ns.tolist() == heap.timeline().time_ns.tolist()
        assert timeline.live_bytes.tolist() == heap.timeline().live_bytes.tolist()
        assert list(recording.snapshots()) == []


@pytest.mark.parametrize("seed", range(4))
def test_histograms_of_a_log(seed: int, tmp_path: Path) -> None:
    heap = log_heap(seed, threads=4)
    with convert(heap, tmp_path / "out") as recording:
        for site in [None, *heap.sites().id.tolist()]:
            for what in ("size_histogram", "lifetime_histogram"):
                found, expected = getattr(recording, what)(site), getattr(heap, what)(site)
                assert found.counts.tolist() == expected.counts.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_recording_becomes_its_like(seed: int, tmp_path: Path) -> None:
    """Also with modules that come and go at one address, and stacks cut short."""
    made = Scenario(seed).run(150)
    with open_recording(made.recorder.writer(end_ns=9).write(tmp_path / "in")) as source:
        expected = rows(source, source.sites())
        with convert(source, tmp_path / "out") as recording:
            assert rows(recording, recording.sites()) == expected
            assert recording.totals.peak_bytes == source.totals.peak_bytes
            assert len(recording.blocks()) == len(source.blocks())


def test_a_log_without_end_was_not_ended_by_itself(tmp_path: Path) -> None:
    heap = replay_log("log", [b"# PID 1\n+ malloc 8 0x10\n-\n"]).heaps[0]
    with convert(heap, tmp_path / "out") as recording:
        # There is a process 1 on every machine; it has nothing to do with this log.
        assert recording.process.state is ProcessState.KILLED
        assert recording.threads[0].tid == 1
        (site,) = recording.sites().id.tolist()
        assert recording.stack(site).frames == ()


def test_a_log_without_entries(tmp_path: Path) -> None:
    heap = replay_log("log", [b"# PID 77\n"]).heaps[0]
    with convert(heap, tmp_path / "out") as recording:
        assert recording.totals.allocations == 0
        assert len(recording.sites()) == len(recording.blocks()) == len(recording.timeline()) == 0


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="cannot be written"):
        write_recording(log_heap(1), tmp_path / "missing" / "out")
    (tmp_path / "taken").mkdir()
    with pytest.raises(ExportError, match="cannot be written"):
        write_recording(log_heap(1), tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_birth_codes_are_read_back() -> None:
    ticks = [0, 1, (1 << 22) - 1, 1 << 22, (1 << 22) + 5, 1 << 30, (1 << 34) + (1 << 13)]
    born = np.array(ticks) << 20
    found = birth_ns(birth_codes(born))
    assert found[:4].tolist() == born[:4].tolist()
    assert np.all(found <= born)
    assert np.all(born - found <= born >> 20)


def test_values_are_shared_out_among_lines() -> None:
    counts = np.zeros(48, np.int64)
    counts[[1, 4, 7]] = 5, 2, 9
    buckets = Buckets()
    lines = np.array([3, 0, 6, 7])
    own, number = buckets.share_out(counts, lines)
    total = np.zeros(48, np.int64)
    for bucket, histogram, values in zip(own, number, lines, strict=True):
        stored = buckets.stored[histogram] if histogram else np.zeros(48, np.int64)
        total += stored
        if bucket:
            total[bucket - 1] += values - stored.sum()
    assert total.tolist() == counts.tolist()
    assert own[1] == 0


def test_frames_are_innermost_first() -> None:
    heap = replay_log("log", [b"+ malloc 8 0x40\n0x5000\n0x6000\n-\n"]).heaps[0]
    (site,) = heap.sites().id.tolist()
    assert heap.stack(site) == Stack((FrameAddress(0x5000, -1), FrameAddress(0x6000, -1)))
