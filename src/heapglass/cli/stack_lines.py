"""A whole stack below its row, one frame per line."""

from __future__ import annotations

from heapglass.analysis.stacks import NamedStack
from heapglass.cli.output import Screen
from heapglass.model import Frame
from heapglass.views.text.labels import cut_text, full_place_text, place_text, short_name

_INDENT = 8
_GAP = 2
_HANG = 12
_LEAST_NAME = 12


def print_stack(screen: Screen, stack: NamedStack, responsible: Frame | None) -> None:
    room = screen.room(_INDENT)
    for number, frame in enumerate(stack.frames):
        place = full_place_text(frame) if room is None else place_text(frame)
        note = " (inlined)" if frame.is_inlined else ""
        taken = len(place) + len(note) + _GAP
        name_room = None if room is None else max(_LEAST_NAME, room - taken)
        name = short_name(frame, name_room, screen.glyphs)
        style = "cyan" if frame is responsible else ""
        parts = (name, style), (f"  {place}{note}", "dim")
        screen.line((f"    #{number:<3}", "dim"), *parts, hang=_HANG)
    if stack.cut is not None:
        screen.line((f"    ({cut_text(stack.cut)})", "yellow"))
    screen.line()
