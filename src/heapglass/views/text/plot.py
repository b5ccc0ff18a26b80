"""Plots made of characters: an area under a curve, with axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heapglass.views.text.glyphs import Glyphs
from heapglass.views.text.labels import shorten

_LABEL_GAP = 2


@dataclass(frozen=True, slots=True)
class Axis:
    """What stands at both ends of an axis and in its middle."""

    low: str
    middle: str
    high: str


def draw_area(values: Sequence[float], height: int, glyphs: Glyphs) -> list[str]:
    """`height` lines from the top down, one column per value; the highest value fills its column,
    and what is above nothing can be seen."""
    steps = len(glyphs.column)
    highest = max(values, default=0)
    levels = [_level(value, highest, height * steps) for value in values]
    return [
        "".join(_cell(level - row * steps, glyphs) for level in levels)
        for row in range(height - 1, -1, -1)
    ]


def draw_plot(
    values: Sequence[float], height: int, vertical: Axis, horizontal: Axis, glyphs: Glyphs
) -> list[str]:
    """The area with its axes: lines of label and area, the floor, and the labels below it."""
    width = max(map(len, (vertical.low, vertical.middle, vertical.high)))
    labels = [""] * height
    labels[0], labels[height // 2] = vertical.high, vertical.middle
    area = draw_area(values, height, glyphs)
    lines = [
        f"{label:>{width}} {glyphs.axis if label else glyphs.wall}{row}"
        for label, row in zip(labels, area, strict=True)
    ]
    lines.append(f"{vertical.low:>{width}} {glyphs.corner}{glyphs.floor * len(values)}")
    lines.append(" " * (width + 2) + spread(horizontal, len(values)))
    return lines


def spread(axis: Axis, width: int) -> str:
    """The labels at the beginning, in the middle and at the end of a line of `width`."""
    start = max(0, width // 2 - len(axis.middle) // 2)
    left = f"{axis.low:<{start}}{axis.middle}"
    room = width - len(left)
    if room <= len(axis.high) or start <= len(axis.low):  # the middle has to give way
        return f"{axis.low}{axis.high:>{max(0, width - len(axis.low))}}"
    return f"{left}{axis.high:>{room}}"


def place_labels(
    labels: Sequence[tuple[int, str]], width: int, most: int, glyphs: Glyphs, *, is_cut: bool = True
) -> tuple[list[str], list[int]]:
    """Texts below a plot, each with a tick at its column: at most `most` lines, and the indexes of
    the texts that found no room. On the right, where it does not fit, a text stands to the left of
    its tick. Without `is_cut` a text that would have to be shortened finds no room."""
    lines: list[str] = []
    left_out: list[int] = []
    for index, (column, text) in enumerate(labels):
        at, label = _ticked(column, text, width, glyphs)
        if not is_cut and text not in label:
            left_out.append(index)
            continue
        free = (number for number, line in enumerate(lines) if len(line) + _LABEL_GAP <= at)
        number = next(free, len(lines))
        if number == most:
            left_out.append(index)
            continue
        if number == len(lines):
            lines.append("")
        lines[number] = f"{lines[number]:<{at}}{label}"
    return lines, left_out


def _ticked(column: int, text: str, width: int, glyphs: Glyphs) -> tuple[int, str]:
    """Where it begins, and the text with its tick."""
    if column + 2 + len(text) > width and column > width // 2:
        text = shorten(text, column - 1, glyphs)
        return column - len(text) - 1, f"{text} {glyphs.mark}"
    return column, f"{glyphs.mark} {shorten(text, width - column - 2, glyphs)}"


def _level(value: float, highest: float, steps: int) -> int:
    if value <= 0 or highest <= 0:
        return 0
    return max(1, round(value / highest * steps))


def _cell(level: int, glyphs: Glyphs) -> str:
    if level <= 0:
        return " "
    return glyphs.column[min(level, len(glyphs.column)) - 1]
