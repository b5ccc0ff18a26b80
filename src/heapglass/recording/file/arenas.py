"""The paired arenas of TIMELINE and SNAPSHOTS: a whole copy of the one in use.

When an arena is full the target writes a thinned copy to the other and flips. A reader that is
overtaken twice would see a mixture; it notices by the arena's generation and reads again.
"""

from __future__ import annotations

from heapglass.recording import schema
from heapglass.recording.file.older import PointBefore6, point_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heapglass.recording.file.image import Image

_FIELDS = {
    schema.KIND_TIMELINE: schema.Header.FIELDS["timeline_arena"],
    schema.KIND_SNAPSHOTS: schema.Header.FIELDS["snapshots_arena"],
}
_TRIES = 8


def read_arena(image: Image, kind: int) -> bytes:
    """All entries of the arena in use, b"" when there are none yet."""
    entries = b""
    for _ in range(_TRIES):
        found = arena_in_use(image, kind)
        if found is None:
            return b""
        offset, arena = found
        entries = image.file.read(offset + schema.Arena.SIZE, arena.used)
        again = arena_in_use(image, kind)
        if again and (again[0], again[1].generation) == (offset, arena.generation):
            break
    return entries


def last_point(image: Image) -> schema.Point | PointBefore6 | None:
    """The end of the timeline, without reading all of it."""
    layout = point_of(image.header)
    found = arena_in_use(image, schema.KIND_TIMELINE)
    if found is None or found[1].used < layout.SIZE:
        return None
    offset, arena = found
    end = arena.used // layout.SIZE * layout.SIZE
    start = offset + schema.Arena.SIZE + end - layout.SIZE
    return layout(image.file.read(start, layout.SIZE))


def arena_in_use(image: Image, kind: int) -> tuple[int, schema.Arena] | None:
    """The offset and the head of the arena that the header names now."""
    field = _FIELDS[kind]
    number = int.from_bytes(image.file.read(field.offset, field.size), "little")
    for extent in image.extents(kind):
        if extent.first == number and extent.length >= schema.Arena.SIZE:
            arena = schema.Arena(image.file.read(extent.offset, schema.Arena.SIZE))
            if arena.used > extent.length - schema.Arena.SIZE:
                raise image.file.damaged(f"an arena of kind {kind} is larger than its extent")
            return extent.offset, arena
    return None
