"""How far off an estimate may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import hypot
from typing import Self

from heapglass.model.tables import F64
from heapglass.model.weights import SIDE

Interval = tuple[float, float]  # that holds the truth 19 times in 20: its low end and its high one


class Spread(float):
    """The standard error of a value; and how far below and above it the truth may lie, which is
    more on one side where few samples came, or some may have been missed."""

    __slots__ = ("above", "below")

    below: float
    above: float

    def __new__(cls, error: float, below: float = 0.0, above: float = 0.0) -> Self:
        """Where neither side is known it is the normal distribution's."""
        spread = super().__new__(cls, error)
        is_known = below > 0 or above > 0
        spread.below = below if is_known else SIDE * error
        spread.above = above if is_known else SIDE * error
        return spread

    def interval(self, value: int) -> Interval:
        """Of what cannot be less than nothing unless it is."""
        low = value - self.below
        return (max(low, 0.0) if value >= 0 else low), value + self.above

    @property
    def turned(self) -> Spread:
        """That of the value with the other sign."""
        return Spread(self, self.above, self.below)


@dataclass(frozen=True, slots=True)
class Spreads:
    """Those of many values."""

    error: F64
    below: F64
    above: F64

    def __getitem__(self, place: int) -> Spread:
        return Spread(*(float(one[place]) for one in (self.error, self.below, self.above)))


def as_spread(error: float) -> Spread:
    return error if isinstance(error, Spread) else Spread(error)


def join_spreads(errors: Iterable[float]) -> Spread:
    """That of a sum, from those of what was added up: samples are independent, so that squares add
    up, on either side."""
    spreads = [as_spread(error) for error in errors]
    return Spread(
        hypot(*spreads),
        hypot(*(spread.below for spread in spreads)),
        hypot(*(spread.above for spread in spreads)),
    )
