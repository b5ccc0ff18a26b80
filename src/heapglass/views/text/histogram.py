"""Log2 histograms folded to a few bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from heapglass.model import Histogram
from heapglass.model.spread import Spread
from heapglass.units import Units, format_duration, format_share, format_size
from heapglass.views.text.estimates import counted_estimate
from heapglass.views.text.glyphs import Glyphs, draw_bar

_BAR_WIDTH = 30
_COUNT_WIDTH = 6
_REST_WIDTH = 12  # gaps and share


@dataclass(frozen=True, slots=True)
class Bar:
    """Values from `low` up to, but not including, `high` (None: everything above)."""

    low: int
    high: int | None
    count: int
    error: float = 0.0  # standard error; 0 where it is exact


def fold_histogram(histogram: Histogram, max_bars: int = 8) -> tuple[Bar, ...]:
    """At most `max_bars` bars from the first value seen to the last, each as many buckets wide;
    the value 0 keeps its bar. Bounds are in the histogram's own unit times its value."""
    filled = np.flatnonzero(histogram.counts)
    if len(filled) == 0:
        return ()
    first, last = int(filled[0]), int(filled[-1])
    bars = []
    if first == 0:
        bars.append(_bar(histogram, 0, 1))
        first = 1
    step = max(1, -(-(last + 1 - first) // (max_bars - len(bars))))
    bars += [_bar(histogram, low, low + step) for low in range(first, last + 1, step)]
    return tuple(bars)


def size_label(bar: Bar, units: Units, glyphs: Glyphs) -> str:
    """`16 - 63 B`: both ends belong to it."""
    if bar.high is not None and bar.high - bar.low == 1:
        return _round(format_size(bar.low, units))
    return _range(bar, 1, lambda size: _round(format_size(size, units)), glyphs)


def lifetime_label(bar: Bar, glyphs: Glyphs) -> str:
    """`< 1 ms`, `1 - 4.2 ms`."""
    if bar.low == 0 and bar.high is not None:
        return f"< {_round(format_duration(bar.high))}"
    return _range(bar, 0, lambda duration: _round(format_duration(duration)), glyphs)


def draw_bars(bars: Sequence[Bar], labels: Sequence[str], width: int, glyphs: Glyphs) -> list[str]:
    """Lines of label, bar, count and share, none wider than `width`."""
    label_width = max(map(len, labels), default=0)
    counts = [counted_estimate(bar.count, bar.error, glyphs) for bar in bars]
    count_width = max(_COUNT_WIDTH, *map(len, counts), 0)
    bar_width = max(1, min(_BAR_WIDTH, width - label_width - count_width - _REST_WIDTH))
    whole = sum(bar.count for bar in bars)
    largest = max((bar.count for bar in bars), default=0)
    lines = []
    for label, count, bar in zip(labels, counts, bars, strict=True):
        drawn = draw_bar(bar.count / largest, bar_width, glyphs)
        share = format_share(bar.count, whole) if bar.count else ""
        numbers = f"{count:>{count_width}}  {share:>4}"
        lines.append(f"  {label:>{label_width}}  {drawn:<{bar_width}}  {numbers}")
    return lines


def _bar(histogram: Histogram, first: int, end: int) -> Bar:
    buckets = len(histogram.counts)
    count = int(histogram.counts[first:end].sum())
    high = _low(min(end, buckets)) * histogram.unit if end < buckets else None
    errors = np.zeros(buckets) if histogram.errors is None else histogram.errors
    sides = (histogram.below, histogram.above)
    known = [errors, *(np.zeros(buckets) if side is None else side for side in sides)]
    error = Spread(*(float(np.sqrt(np.square(one[first:end]).sum())) for one in known))
    return Bar(_low(first) * histogram.unit, high, count, error)


def _low(bucket: int) -> int:
    return 0 if bucket == 0 else int(2 ** (bucket - 1))


def _range(bar: Bar, inset: int, text: Callable[[int], str], glyphs: Glyphs) -> str:
    low = text(bar.low)
    if bar.high is None:
        return f">= {low}"
    high = text(bar.high - inset)
    number, unit = low.rsplit(" ", 1)
    same_unit = high.endswith(f" {unit}") and high.count(" ") == 1
    return f"{number if same_unit else low} {glyphs.dash} {high}"


def _round(text: str) -> str:
    return text.replace(".0 ", " ")
