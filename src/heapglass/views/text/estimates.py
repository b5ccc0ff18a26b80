"""Counters as text, with how far off they may be where they are estimates.

`12.3 ± 0.4 MiB` is an estimate and its standard error: the truth lies within twice that 19 times in
20. Where it may lie farther on one side than on the other, both ends of that interval stand behind
the estimate instead: `388 (40 … 9,100)`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor

from heapglass.analysis.counters import Counters
from heapglass.model.spread import Spread, as_spread
from heapglass.model.weights import SIDE
from heapglass.units import (
    Units,
    count_with_error,
    format_compact,
    format_count,
    format_share,
    format_size,
    size_with_error,
)
from heapglass.views.text.glyphs import Glyphs

_UNEVEN = 1.3  # times what the standard error alone would make of a side, or as much less


def size_text(counters: Counters, name: str, units: Units, glyphs: Glyphs) -> str:
    return sized_estimate(getattr(counters, name), counters.error(name), units, glyphs)


def count_text(counters: Counters, name: str, glyphs: Glyphs) -> str:
    return counted_estimate(getattr(counters, name), counters.error(name), glyphs)


def sized_estimate(size: int, error: float, units: Units, glyphs: Glyphs) -> str:
    text, spread = format_size(size, units), as_spread(error)
    if not _matters(size, spread):
        return text
    if is_even(spread):
        return size_with_error(size, spread, glyphs.error, units)
    return f"{text} {_range(size, spread, lambda end: format_size(end, units), glyphs)}"


def counted_estimate(count: int, error: float, glyphs: Glyphs) -> str:
    text, spread = format_compact(count), as_spread(error)
    if not _matters(count, spread):
        return text
    if is_even(spread):
        return count_with_error(count, spread, glyphs.error)
    return f"{text} {_range(count, spread, format_compact, glyphs)}"


def blocks_estimate(count: int, error: float, glyphs: Glyphs) -> str:
    """Every digit: `30,091 ± 4,738 blocks`."""
    margin = error_text(count, error, glyphs)
    return f"{format_count(count)}{margin} block{'' if count == 1 else 's'}"


def error_text(count: int, error: float, glyphs: Glyphs) -> str:
    """What stands behind a count of which every digit is shown."""
    spread = as_spread(error)
    if not _matters(count, spread):
        return ""
    if is_even(spread):
        return f" {glyphs.error} {format_count(round(spread))}"
    return f" {_range(count, spread, format_count, glyphs)}"


def share_estimate(part: int, whole: int, error: float, glyphs: Glyphs) -> str:
    """A percentage of an exact whole; "" where the part may be anything from none to all of it."""
    spread = as_spread(error)
    low, high = (min(100.0, 100 * end / whole) for end in spread.interval(part))
    if not spread or high - low < _LEAST_PERCENT:
        return format_share(part, whole)
    if low < 1 and high > 99:
        return ""
    if is_even(spread) and high < 100:
        return f"{100 * part / whole:.0f} {glyphs.error} {100 * spread / whole:.1f}%"
    return f"{format_share(part, whole)} ({low:.0f} {glyphs.ellipsis} {high:.0f}%)"


_LEAST_PERCENT = 0.2


def is_even(spread: Spread) -> bool:
    """Whether the standard error says it all."""
    even = SIDE * spread
    return all(side <= even * _UNEVEN and even <= side * _UNEVEN for side in _sides(spread))


def _sides(spread: Spread) -> tuple[float, float]:
    return spread.below, spread.above


def whole_interval(value: int, error: float) -> list[int]:
    """In whole numbers, for JSON."""
    low, high = as_spread(error).interval(value)
    return [floor(low), ceil(high)]


def _range(value: int, spread: Spread, text: Callable[[int], str], glyphs: Glyphs) -> str:
    low, high = (text(end) for end in whole_interval(value, spread))
    number, _, unit = low.partition(" ")
    same_unit = unit and high.endswith(f" {unit}")
    return f"({number if same_unit else low} {glyphs.ellipsis} {high})"


def _matters(value: int, spread: Spread) -> bool:
    """Three digits are shown: less than a thousandth is below what rounding does anyway. Of what
    never came there is nothing to be told, see docs/sampling.md."""
    return spread > 0 and max(spread, *_sides(spread)) * 1000 >= abs(value)
