"""Numbers of several rounds: the least of them, their spread, and two sides compared.

Whatever else the machine does only ever adds time, so the least of many rounds is the best estimate
of what the work itself takes. The spread says how much to trust it.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One side against plain. The spreads are of the rounds, each against plain's own beside it;
    for plain itself, against plain's least."""

    least: float
    over: float  # the least, less plain's least
    ratio: float  # of the two
    over_spread: Spread
    ratio_spread: Spread


def spread_of(values: Sequence[float]) -> Spread:
    return Spread(min(values), statistics.median(values), max(values))


def compare(plain: Sequence[float], other: Sequence[float]) -> Comparison:
    """Both have one number of each round, in order."""
    least, base = min(other), min(plain)
    beside = [base] * len(plain) if other is plain else plain
    pairs = list(zip(beside, other, strict=True))
    return Comparison(
        least=least,
        over=least - base,
        ratio=_ratio(least, base),
        over_spread=spread_of([b - a for a, b in pairs]),
        ratio_spread=spread_of([_ratio(b, a) for a, b in pairs]),
    )


def _ratio(value: float, base: float) -> float:
    """A program may take less than the clock can show."""
    return value / base if base > 0 else 1.0
