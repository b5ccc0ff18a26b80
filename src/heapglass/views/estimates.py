"""Counters as text, with their standard errors where they are estimates: `12.3 MiB ±0.4`."""

from __future__ import annotations

from heapglass.analysis.counters import Counters
from heapglass.units import (
    Units,
    format_compact,
    format_count,
    format_count_error,
    format_error,
    format_size,
)
from heapglass.views.glyphs import Glyphs


def size_text(counters: Counters, name: str, units: Units, glyphs: Glyphs) -> str:
    return sized_estimate(getattr(counters, name), counters.error(name), units, glyphs)


def count_text(counters: Counters, name: str, glyphs: Glyphs) -> str:
    return counted_estimate(getattr(counters, name), counters.error(name), glyphs)


def sized_estimate(size: int, error: float, units: Units, glyphs: Glyphs) -> str:
    text = format_size(size, units)
    if not _matters(size, error):
        return text
    return f"{text} {glyphs.error}{format_error(size, error, units)}"


def counted_estimate(count: int, error: float, glyphs: Glyphs) -> str:
    text = format_compact(count)
    if not _matters(count, error):
        return text
    return f"{text} {glyphs.error}{format_count_error(count, error)}"


def blocks_estimate(count: int, error: float, glyphs: Glyphs) -> str:
    """Every digit: `30,091 ±4,738 blocks`."""
    margin = f" {glyphs.error}{format_count(round(error))}" if _matters(count, error) else ""
    return f"{format_count(count)}{margin} block{'' if count == 1 else 's'}"


def _matters(value: int, error: float) -> bool:
    """Three digits are shown: less than a thousandth is below what rounding does anyway."""
    return error * 1000 >= abs(value) and error > 0
