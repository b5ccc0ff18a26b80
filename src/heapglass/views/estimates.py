"""Counters as text, with their standard errors where they are estimates: `12.3 MiB ±0.4`."""

from __future__ import annotations

from heapglass.analysis.counters import Counters
from heapglass.units import (
    Units,
    format_compact,
    format_count_error,
    format_error,
    format_size,
)
from heapglass.views.glyphs import Glyphs


def size_text(counters: Counters, name: str, units: Units, glyphs: Glyphs) -> str:
    size, error = getattr(counters, name), counters.error(name)
    text = format_size(size, units)
    return f"{text} {glyphs.error}{format_error(size, error, units)}" if error else text


def count_text(counters: Counters, name: str, glyphs: Glyphs) -> str:
    count, error = getattr(counters, name), counters.error(name)
    text = format_compact(count)
    return f"{text} {glyphs.error}{format_count_error(count, error)}" if error else text
