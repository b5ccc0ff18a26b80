"""The file around the tables: what is no recording, and directories of all shapes."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from heapglass.errors import RecordingError
from heapglass.recording import open_recording, schema
from heapglass.recording.file.writer import Writer, pack, put
from recordings.oracle import At
from recordings.slow_recorder import SlowRecorder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def writer() -> Writer:
    """A recording with one live block of 100 bytes at site 2."""
    recorder = SlowRecorder()
    recorder.thread(77, b"main", 0)
    recorder.allocate(At(0, 0), 0x1000, 100, recorder.site([0x400000], 0, 0))
    return recorder.writer()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.heapglass"


def _live_bytes(path: Path) -> int:
    with open_recording(path) as recording:
        totals, table, blocks = recording.totals, recording.sites(), recording.blocks()
        assert totals.live_bytes == int(table.live_bytes.sum()) == int(blocks.size.sum())
        return totals.live_bytes


# ---- what is no recording -----------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", bytes(8192)])
def test_an_empty_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"x\.heapglass is empty: nothing was recorded in it$"):
        open_recording(path)


def test_one_that_was_only_begun(path: Path, writer: Writer) -> None:
    """As of a process that is killed meanwhile."""
    writer.header["magic"] = 0
    writer.write(path)
    with pytest.raises(RecordingError, match=r"its process ended as the recording began$"):
        open_recording(path)


@pytest.mark.parametrize("content", [b"heap", b"\x7fELF" + bytes(9000), b"heapglas" * 2000])
def test_another_file(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=r"x\.heapglass is not a heapglass recording$"):
        open_recording(path)


def test_a_missing_file(path: Path) -> None:
    with pytest.raises(RecordingError, match=r"cannot be opened: No such file or directory$"):
        open_recording(path)


def test_a_name_that_is_none() -> None:
    with pytest.raises(RecordingError, match="cannot be opened"):
        open_recording("a\0b")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"is not a heapglass recording$"):
        open_recording(tmp_path)


def test_a_pipe_does_not_make_us_wait(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(RecordingError, match=r"is not a heapglass recording$"):
        open_recording(path)


def test_a_newer_format(path: Path, writer: Writer) -> None:
    writer.header["version"] = 7
    writer.write(path)
    with pytest.raises(
        RecordingError, match=r"was written by a newer heapglass \(format 7\); update heapglass"
    ):
        open_recording(path)


def test_a_larger_header_of_the_same_version(path: Path, writer: Writer) -> None:
    writer.header["header_size"] = schema.Header.SIZE + 64
    assert _live_bytes(writer.write(path)) == 100


@pytest.mark.parametrize("size", [100, 4095, 4096, 65536, 200000])
def test_a_file_cut_short(path: Path, writer: Writer, size: int) -> None:
    writer.write(path, size=size)
    with pytest.raises(RecordingError, match=r"is cut short: \d+ .*; copy it once more"):
        open_recording(path)


def test_a_file_cut_short_while_open(path: Path, writer: Writer) -> None:
    """A reader that had mapped it would die here."""
    recording = open_recording(writer.write(path))
    os.truncate(path, schema.STEP)
    for ask in (recording.sites, recording.blocks, lambda: recording.totals):
        with pytest.raises(RecordingError, match="is cut short: "):
            ask()


def test_a_closed_recording(path: Path, writer: Writer) -> None:
    recording = open_recording(writer.write(path))
    recording.close()
    with pytest.raises(RecordingError, match="it was closed"):
        recording.sites()


# ---- what is one, though it looks odd -----------------------------------------------------------


def test_a_sparse_file_of_64_gib(path: Path, writer: Writer) -> None:
    writer.write(path, size=64 << 30)
    started = time.monotonic()
    assert _live_bytes(path) == 100
    assert time.monotonic() - started < 2


def test_through_a_symlink(path: Path, writer: Writer) -> None:
    target = writer.write(path.with_name("target"))
    path.symlink_to(target)
    assert _live_bytes(path) == 100


def test_a_directory_of_many_blocks(path: Path) -> None:
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    for number in range(30):
        recorder.allocate(At(0, 0), number << 20, 1, 1)
    writer = recorder.writer()
    entries = len(writer.entries)
    for capacity in (1, 2, entries - 1, entries):
        writer = recorder.writer()
        writer.first_block_capacity = capacity
        assert _live_bytes(writer.write(path)) == 30


def test_more_than_two_directory_blocks(path: Path, writer: Writer) -> None:
    for number in range(5000):
        writer.entries.insert(0, {"kind": schema.KIND_NONE, "offset": number})
    assert _live_bytes(writer.write(path)) == 100


@pytest.mark.parametrize("kind", [schema.KIND_NONE, schema.KIND_MODES + 1, 0xFFFFFFFF])
def test_extents_to_skip(path: Path, writer: Writer, kind: int) -> None:
    writer.add_extent(kind, b"\xff" * 1000, first=5, owner=6)
    assert _live_bytes(writer.write(path)) == 100


def test_kinds_that_are_not_read_are_said_once(path: Path, writer: Writer) -> None:
    for kind in (999, 1000, 999):
        writer.add_extent(kind, b"anything")
    with open_recording(writer.write(path)) as recording:
        (note,) = recording.notes
        assert "kinds 999, 1000" in note


def test_an_entry_that_is_not_complete(path: Path, writer: Writer) -> None:
    writer.entries.append({"kind": 0, "offset": 1 << 60, "length": 1 << 60, "first": 1 << 60})
    assert _live_bytes(writer.write(path)) == 100


@pytest.mark.parametrize("where", ["before", "behind"])
def test_an_extent_made_twice(path: Path, writer: Writer, where: str) -> None:
    """Two threads made it, and the process was killed before the loser took its own back."""
    for entry in list(writer.entries):
        length = entry["length"]
        if entry["kind"] in (schema.KIND_TIMELINE, schema.KIND_SNAPSHOTS):
            continue
        if where == "behind":
            writer.add_extent(
                entry["kind"], b"", first=entry["first"], owner=entry["owner"], length=length
            )
        else:
            twin = dict(entry)
            entry["offset"] = writer._append(_body(writer, twin))
            start = twin["offset"] - schema.STEP
            writer._body[start : start + length] = bytes(length)
            writer.entries.append(twin)
    assert _live_bytes(writer.write(path)) == 100


def _body(writer: Writer, entry: dict[str, int]) -> bytes:
    start = entry["offset"] - schema.STEP
    return bytes(writer._body[start : start + entry["length"]])


@pytest.mark.parametrize("name", ["modules", "nodes", "threads", "histograms", "strings_used"])
def test_more_handed_out_than_there_was_room_for(path: Path, writer: Writer, name: str) -> None:
    writer.header[name] = 1 << 31
    assert _live_bytes(writer.write(path)) == 100


def test_an_extent_that_is_still_missing(path: Path) -> None:
    """Two threads make the extents of a table, and the later one comes first."""
    recorder = SlowRecorder()
    for number in range(200):
        recorder.thread(number + 1, b"t", 0)
        recorder.allocate(At(number, 0), 0x1000 + 32 * number, 1, 1)
    writer = recorder.writer()
    writer.entries = [
        e for e in writer.entries if (e["kind"], e["first"]) != (schema.KIND_THREADS, 0)
    ]
    with open_recording(writer.write(path)) as recording:
        assert [thread.tid for thread in recording.threads] == list(range(129, 201))


# ---- what is damaged ----------------------------------------------------------------------------


def _refuses(path: Path, writer: Writer, message: str) -> None:
    writer.write(path)
    with pytest.raises(RecordingError, match=f"x.heapglass is damaged: {message}"):
        open_recording(path)


def test_an_extent_outside_the_file(path: Path, writer: Writer) -> None:
    writer.entries[0]["offset"] = 1 << 40
    _refuses(path, writer, "an extent of kind 4 lies outside the file")


def test_an_extent_that_is_not_aligned(path: Path, writer: Writer) -> None:
    writer.entries[0]["offset"] += 4096
    _refuses(path, writer, "an extent of kind 4 lies outside the file")


def test_extents_that_overlap(path: Path, writer: Writer) -> None:
    writer.entries[0]["length"] += 1
    _refuses(path, writer, "two of its extents overlap")


def test_a_directory_that_runs_in_a_circle(path: Path, writer: Writer) -> None:
    image = writer.image()
    put(image, schema.Directory, "next", schema.PAGE, schema.PAGE)
    path.write_bytes(image)
    with pytest.raises(RecordingError, match="its directory runs in a circle"):
        open_recording(path)


def test_a_directory_block_outside_the_file(path: Path, writer: Writer) -> None:
    image = writer.image()
    put(image, schema.Directory, "next", 1 << 50, schema.PAGE)
    path.write_bytes(image)
    with pytest.raises(RecordingError, match="its directory points outside the file"):
        open_recording(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("state", 5), ("ladder", 3), ("granule_shift", 1), ("timeline_arena", 2), ("used", 65535)],
)
def test_impossible_numbers(path: Path, writer: Writer, name: str, value: int) -> None:
    writer.header[name] = value
    _refuses(path, writer, "it")


def test_a_stack_in_a_circle(path: Path) -> None:
    recorder = SlowRecorder()
    recorder.site([1 << 20, 2 << 20], 0, 0)
    recorder.nodes[2]["parent"] = 3
    with (
        open_recording(recorder.writer().write(path)) as recording,
        pytest.raises(RecordingError, match="a stack in it runs in a circle"),
    ):
        recording.stack(2)


def test_counters_of_no_site(path: Path, writer: Writer) -> None:
    line = pack(schema.Counters, {"allocations": 1})
    data = bytes(128 * 3) + line
    writer.add_extent(schema.KIND_COUNTERS, data, owner=9, length=schema.STEP)
    with (
        open_recording(writer.write(path)) as recording,
        pytest.raises(RecordingError, match="it has counters of a site that does not exist"),
    ):
        recording.sites()


def test_a_block_of_no_site(path: Path, writer: Writer) -> None:
    block = pack(schema.Large, {"address": 0x5000, "size": 1, "site": 3})
    writer.add_extent(schema.KIND_LARGE, block, first=1, length=schema.STEP)
    with (
        open_recording(writer.write(path)) as recording,
        pytest.raises(RecordingError, match="a block in it is of a site that does not exist"),
    ):
        recording.blocks()
