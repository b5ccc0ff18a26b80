"""How the recorder did its work, as a reader sees it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from heapglass.recording import open_recording, schema
from heapglass.recording.file.mounts import file_system_of
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.file.writer import Writer, pack
from recordings.oracle import At
from recordings.slow_recorder import SlowRecorder

if TYPE_CHECKING:
    from pathlib import Path

    from heapglass.model import Workings

_HEAP = 0x10_0000


@pytest.fixture
def recorder() -> SlowRecorder:
    """Two threads; three live blocks, one of them large."""
    recorder = SlowRecorder()
    recorder.thread(77, b"main", 0)
    recorder.thread(78, b"worker", 0)
    site = recorder.site([0x400000], 0, 0)
    for number, size in enumerate((10, 20, 30, 1 << 20)):
        recorder.allocate(At(number % 2, 1), _HEAP + number * 0x1000, size, site)
    recorder.free(At(0, 2), _HEAP)
    recorder.tick(5)
    recorder.tick(9)
    return recorder


def read(writer: Writer, directory: Path) -> Workings:
    with open_recording(writer.write(directory / "x.heapglass")) as recording:
        return recording.workings


def test_tables_know_what_is_in_them(recorder: SlowRecorder, tmp_path: Path) -> None:
    tables = {table.name: table for table in read(recorder.writer(), tmp_path).tables}
    assert tables["ledger"].records == 2
    assert tables["large blocks"].records == 1
    assert tables["threads"].records == 2
    assert tables["ledger"].room == schema.LEDGER_RECORDS
    assert tables["counters"].extents == 2  # one for each shard


def test_tables_hold_the_whole_file(recorder: SlowRecorder, tmp_path: Path) -> None:
    found = read(recorder.writer(), tmp_path)
    assert sum(table.stored_bytes for table in found.tables) == found.place.used_bytes
    assert found.place.length_bytes == os.path.getsize(tmp_path / "x.heapglass")


def test_no_more_is_in_a_table_than_fits(recorder: SlowRecorder, tmp_path: Path) -> None:
    writer = recorder.writer(sites=schema.MAX_SITES)
    tables = {table.name: table for table in read(writer, tmp_path).tables}
    assert tables["sites"].records == tables["sites"].room


def test_history_is_that_of_the_arena_in_use(recorder: SlowRecorder, tmp_path: Path) -> None:
    timeline = read(recorder.writer(), tmp_path).timeline
    assert timeline is not None
    assert (timeline.entries, timeline.used_bytes) == (2, 2 * schema.Point.SIZE)


def test_threads_come_with_their_counters(tmp_path: Path) -> None:
    record = {
        "tid": 9,
        "name": b"busy",
        "allocations": 50,
        "frees": 40,
        "stats": list(range(10, 10 + schema.STAT_SLOTS)),
        "more_stats": [18, 19, 20, 21, 0, 0, 0, 0],
        "losses": [0, 3, *[0] * 14],
    }
    writer = Writer()
    writer.header["threads"] = 1
    writer.add_table(schema.KIND_THREADS, [pack(schema.ThreadRecord, record)])
    (thread,) = read(writer, tmp_path).threads
    assert (thread.tid, thread.name, thread.events) == (9, "busy", 90)
    assert dict(thread.stats) == {name: 10 + i for i, name in enumerate(schema.STATS)}
    assert dict(thread.losses) == {"ledger_full": 3}


def test_the_header_says_how_it_was_recorded(tmp_path: Path) -> None:
    writer = Writer()
    writer.header |= {
        "memory_budget": 5 << 20,
        "options": b"HEAPGLASS_DEPTH=9\0HEAPGLASS_QUIET=1\0",
        "flags": schema.FLAG_NO_POPULATE | schema.FLAG_MULTI_THREADED,
    }
    found = read(writer, tmp_path)
    assert found.memory_budget == 5 << 20
    assert found.options == ("HEAPGLASS_DEPTH=9", "HEAPGLASS_QUIET=1")
    assert found.is_reserved_up_front
    assert found.is_multi_threaded
    assert found.timeline is None


def test_holes_are_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"x" * 8192)
        file.seek(1 << 20)
        file.write(b"x" * 4096)
        file.truncate(4 << 20)
    with RecordingFile(path) as recording:
        assert recording.stored(0, 4 << 20) == 12288
        assert recording.stored(4096, 8192) == 4096
        assert recording.stored(65536, 65536) == 0
        assert recording.stored((1 << 20) - 4096, 4 << 20) == 4096


def test_a_file_system_has_a_name() -> None:
    assert file_system_of(os.stat("/proc/self").st_dev) == "proc"
    assert file_system_of(os.makedev(4095, 4095)) == ""
