"""Classes of sizes and ages as text: their names, and the bars of `#` that dmalloc made known."""

from __future__ import annotations

from collections.abc import Sequence

from heapglass.analysis.blocks import BlockClass
from heapglass.units import Units, format_count
from heapglass.views.block_classes import ClassKind, ClassView
from heapglass.views.text.estimates import counted_estimate, sized_estimate
from heapglass.views.text.glyphs import Glyphs
from heapglass.views.text.histogram import Bar, lifetime_label, size_label

_S = 10**9
_LONGEST_BAR = 50
_GAP = 2


def class_label(one: BlockClass, view: ClassView, units: Units, glyphs: Glyphs) -> str:
    """`0 - 4 bytes` and `< 10 sec`, or for fine classes `16 - 31 B` and `1 - 2 ms`."""
    if view.is_fine:
        bar = Bar(one.low, one.high, one.blocks)
        is_size = view.kind is ClassKind.SIZE
        return size_label(bar, units, glyphs) if is_size else lifetime_label(bar, glyphs)
    if view.kind is ClassKind.SIZE:
        return f"{one.low} + bytes" if one.high is None else f"{one.low} - {one.high} bytes"
    return f"> {one.low // _S} sec" if one.high is None else f"< {one.high // _S} sec"


def draw_classes(view: ClassView, width: int, units: Units, glyphs: Glyphs) -> list[str]:
    """A line that gives the scale, and one for each class, none wider than `width`."""
    labels = [f"{class_label(one, view, units, glyphs)}:" for one in view.classes]
    label_width = max(map(len, labels))
    counts = [counted_estimate(one.blocks, one.blocks_error, glyphs) for one in view.classes]
    sizes = [_size_text(one, units, glyphs) for one in view.classes]
    count_width, size_width = max(6, *map(len, counts)), max(8, *map(len, sizes))
    taken = label_width + count_width + size_width + 4 * _GAP
    room = max(10, min(_LONGEST_BAR, width - taken))
    scale = _scale([one.blocks for one in view.classes], room)
    noun = "allocation" if scale == 1 else "allocations"
    lines = [
        f"Current allocations by {view.kind.value}: ( # = {format_count(scale)} current {noun})"
    ]
    for label, count, size, one in zip(labels, counts, sizes, view.classes, strict=True):
        bar = "#" * -(-one.blocks // scale)
        numbers = f"{count:>{count_width}}  {size:>{size_width}}"
        lines.append(f"{label:>{label_width}}  {bar:<{room}}  {numbers}")
    return lines


def _size_text(one: BlockClass, units: Units, glyphs: Glyphs) -> str:
    return sized_estimate(one.size_bytes, one.bytes_error, units, glyphs) if one.blocks else ""


def _scale(counts: Sequence[int], room: int) -> int:
    """Blocks for one `#`, so that the longest bar has room."""
    return max(1, -(-max(counts, default=0) // room))
