"""The few characters beyond ASCII that make a screen readable, and what replaces them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Glyphs:
    ellipsis: str
    arrow: str  # from callee to caller
    dash: str  # between the ends of a range
    error: str  # before a standard error
    bar: str  # fillings of one cell, from almost empty to full
    column: str  # the same, from the bottom up
    nothing: str  # in a little plot
    call: str  # from caller to callee
    recursion: str  # behind a function that calls itself
    fork: str  # before a branch of a tree, the last one, and what is below either
    last: str
    trunk: str
    edge: str  # where a cell of a flame graph begins
    wall: str  # left of a plot, at its labels, in its corner, and below it
    axis: str
    corner: str
    floor: str
    mark: str  # below a plot, at a moment worth knowing


UNICODE = Glyphs(
    ellipsis="…",
    arrow="←",
    dash="–",  # noqa: RUF001
    error="±",
    bar="▏▎▍▌▋▊▉█",
    column="▁▂▃▄▅▆▇█",
    nothing="·",
    call="›",  # noqa: RUF001
    recursion="↻",
    fork="├─ ",
    last="└─ ",
    trunk="│  ",
    edge="▏",
    wall="│",
    axis="┤",
    corner="└",
    floor="─",
    mark="▲",
)
ASCII = Glyphs(
    ellipsis="...",
    arrow="<-",
    dash="-",
    error="+-",
    bar="#",
    column="#",
    nothing=".",
    call=">",
    recursion="(recursive)",
    fork="|- ",
    last="`- ",
    trunk="|  ",
    edge="|",
    wall="|",
    axis="+",
    corner="+",
    floor="-",
    mark="^",
)


def choose_glyphs(encoding: str) -> Glyphs:
    """The richest set that the encoding can write."""
    characters = "".join(getattr(UNICODE, one.name) for one in fields(Glyphs))
    try:
        characters.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def draw_bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A bar of `share` (0 to 1) of `width` cells; anything above nothing can be seen."""
    steps = len(glyphs.bar)
    filled = round(min(1.0, max(0.0, share)) * width * steps)
    if share > 0:
        filled = max(1, filled)
    whole, rest = divmod(filled, steps)
    return glyphs.bar[-1] * whole + (glyphs.bar[rest - 1] if rest else "")


def draw_columns(values: Sequence[int], glyphs: Glyphs) -> str:
    """A little plot, one character for each value; what is not 0 can be seen. Where the encoding
    has no blocks of all heights, digits stand for tenths of the highest."""
    highest = max(values, default=0)
    if highest <= 0:
        return glyphs.nothing * len(values)
    marks = glyphs.column if len(glyphs.column) > 1 else "123456789"
    steps = len(marks)
    return "".join(
        marks[-(-value * steps // highest) - 1] if value > 0 else glyphs.nothing for value in values
    )
