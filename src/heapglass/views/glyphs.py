"""The few characters beyond ASCII that make a screen readable, and what replaces them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    ellipsis: str
    arrow: str  # from callee to caller
    dash: str  # between the ends of a range
    error: str  # before a standard error
    bar: str  # fillings of one cell, from almost empty to full


UNICODE = Glyphs(ellipsis="…", arrow="←", dash="–", error="±", bar="▏▎▍▌▋▊▉█")  # noqa: RUF001
ASCII = Glyphs(ellipsis="...", arrow="<-", dash="-", error="+-", bar="#")


def choose_glyphs(encoding: str) -> Glyphs:
    """The richest set that the encoding can write."""
    characters = UNICODE.ellipsis + UNICODE.arrow + UNICODE.dash + UNICODE.error + UNICODE.bar
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
