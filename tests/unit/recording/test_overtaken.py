"""A target that goes on in the very middle of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.recording import schema
from heapglass.recording.file.arenas import read_arena
from heapglass.recording.file.image import Image
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.file.writer import pack, put
from heapglass.recording.reader import Recording
from recordings.oracle import At
from recordings.slow_recorder import SlowRecorder

if TYPE_CHECKING:
    from pathlib import Path


class _Overtaken(RecordingFile):
    """Replaces the file's contents by `then` right after the first read at `offset`."""

    __slots__ = ("offset", "then")

    def __init__(self, path: Path, offset: int, then: bytes) -> None:
        super().__init__(path)
        self.offset = offset
        self.then = then

    def read(self, offset: int, length: int) -> bytes:
        data = super().read(offset, length)
        if offset == self.offset and self.then:
            with open(self.path, "r+b") as file:
                file.write(self.then)
            self.then = b""
        return data


def _arena_offset(image: bytes | bytearray, kind: int, number: int) -> int:
    block = schema.Directory(image, schema.PAGE)
    start = schema.PAGE + schema.Directory.SIZE
    for at in range(start, start + block.count * schema.Extent.SIZE, schema.Extent.SIZE):
        extent = schema.Extent(image, at)
        if (extent.kind, extent.first) == (kind, number):
            return extent.offset
    raise LookupError


def _recorder() -> SlowRecorder:
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    for time in range(8):
        recorder.tick(time)
    return recorder


def test_the_arenas_change_places(tmp_path: Path) -> None:
    """The reader is slow: the target goes to the other arena and begins to write into this one."""
    before = _recorder().writer().image()
    after = bytearray(before)
    ours, other = (_arena_offset(before, schema.KIND_TIMELINE, number) for number in (1, 0))
    points = b"".join(pack(schema.Point, {"time": time}) for time in (100, 200))
    after[other : other + schema.Arena.SIZE] = pack(
        schema.Arena, {"used": len(points), "count": 2, "generation": 3}
    )
    start = other + schema.Arena.SIZE
    after[start : start + len(points)] = points
    put(after, schema.Arena, "used", 0, ours)
    put(after, schema.Header, "timeline_arena", 0)
    path = tmp_path / "x"
    path.write_bytes(before)
    file = _Overtaken(path, ours + schema.Arena.SIZE, bytes(after))
    assert read_arena(Image(file), schema.KIND_TIMELINE) == points


def test_the_same_arena_is_thinned_twice(tmp_path: Path) -> None:
    before = _recorder().writer().image()
    ours = _arena_offset(before, schema.KIND_TIMELINE, 1)
    after = bytearray(before)
    put(after, schema.Arena, "used", schema.Point.SIZE, ours)
    put(after, schema.Arena, "generation", 4, ours)
    path = tmp_path / "x"
    path.write_bytes(before)
    file = _Overtaken(path, ours + schema.Arena.SIZE, bytes(after))
    assert len(read_arena(Image(file), schema.KIND_TIMELINE)) == schema.Point.SIZE


def test_an_arena_that_only_grew_is_not_read_again(tmp_path: Path) -> None:
    recorder = _recorder()
    before = recorder.writer().image()
    ours = _arena_offset(before, schema.KIND_TIMELINE, 1)
    after = bytearray(before)
    put(after, schema.Arena, "used", 9 * schema.Point.SIZE, ours)
    path = tmp_path / "x"
    path.write_bytes(before)
    file = _Overtaken(path, ours + schema.Arena.SIZE, bytes(after))
    assert len(read_arena(Image(file), schema.KIND_TIMELINE)) == 8 * schema.Point.SIZE


def test_the_peak_moves_on_while_lines_are_read(tmp_path: Path) -> None:
    """Lines of the old peak and a header of the new one would not add up."""
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    for number in range(3):
        recorder.allocate(At(0, 0), 0x1000 * (number + 1), 100, 1)
    recorder.free(At(0, 1), 0x1000)
    before = recorder.writer().image()
    for number in range(5):
        recorder.allocate(At(0, 2), 0x10000 * (number + 1), 100, 1)
    recorder.free(At(0, 3), 0x2000)
    after = recorder.writer().image()
    assert len(before) == len(after)
    path = tmp_path / "x"
    path.write_bytes(before)
    lines = _arena_offset(before, schema.KIND_COUNTERS, 0)
    with Recording(RecordingFile(path)) as recording:
        recording._file = _Overtaken(path, lines, bytes(after))
        recording._latest = None
        assert recording.sites().peak_bytes.tolist() == [700]
