"""How events were recorded, when that changed, and why. Without numpy: `heapglass run` asks too."""

from __future__ import annotations

from heapglass.recording import schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heapglass.recording.file.image import Image


def read_changes(image: Image) -> list[schema.ModeChange]:
    """Those that were kept, in order."""
    count = min(image.header.mode_changes, schema.MODE_CHANGES)
    table = image.table(schema.KIND_MODES, schema.ModeChange.SIZE, count)
    changes = [change for change in schema.ModeChange.each(table) if change.mode]
    for change in changes:
        if change.mode > schema.MODE_PAUSED or not 0 < change.reason <= schema.CHANGE_WITHIN:
            raise image.file.damaged("a change of its mode makes no sense")
    return changes


def sample_bytes(image: Image, changes: list[schema.ModeChange]) -> int:
    """The interval of now or, where sampling has ended, the last one; 0 when all was exact."""
    if image.header.sample_bytes:
        return image.header.sample_bytes
    return next((c.sample_bytes for c in reversed(changes) if c.sample_bytes), 0)


def paused_ns(image: Image, end_ns: int) -> int:
    """In all, with a pause that lasted until the end, or still does."""
    header = image.header
    under_way = max(0, end_ns - (header.paused_since - 1)) if header.paused_since else 0
    return header.paused_ns + under_way


def was_paused(image: Image) -> bool:
    """A pause may be shorter than a tick of the clock, or later than the changes kept."""
    header = image.header
    is_noted = any(change.mode == schema.MODE_PAUSED for change in read_changes(image))
    return bool(header.paused_ns or header.paused_since) or is_noted
