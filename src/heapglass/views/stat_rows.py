"""The recorder's own counters as rows: one line in `STATS` for each, in the order of the screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heapglass.model import Recorder, Totals

ALLOCATIONS, RECALLED = "allocations", "recalled"  # not counted by the recorder, but following


@dataclass(frozen=True, slots=True)
class StatWords:
    label: str
    level: int  # of indentation: a part of the row above that has less
    share_of: str = ""  # the row that it is a share of
    is_rare: bool = False  # not shown at zero


STATS: dict[str, StatWords] = {
    ALLOCATIONS: StatWords("allocations", 0),
    RECALLED: StatWords("stack recalled", 1, ALLOCATIONS),
    "other_words": StatWords("by a hash of its words", 2, ALLOCATIONS),
    "walks": StatWords("stack walked", 1, ALLOCATIONS),
    "stack_misses": StatWords("new to the thread", 2, "walks"),
    "full_walks": StatWords("without any earlier walk's help", 2, "walks"),
    "foreign_walks": StatWords("on a foreign stack", 2, "walks"),
    "slow_walks": StatWords("tracking every register", 2, "walks"),
    "general": StatWords("events off the short way", 0),
    "frames": StatWords("frames walked", 0),
    "rule_misses": StatWords("unwind rules parsed", 1, "frames"),
    "reused_frames": StatWords("frames taken from the walk before", 0),
    "checked": StatWords("stacks walked twice to compare", 0, is_rare=True),
    "mismatches": StatWords("and found different", 1, "checked", is_rare=True),
}


@dataclass(frozen=True, slots=True)
class StatRow:
    name: str
    label: str
    level: int
    count: int
    whole: int | None  # what it is a share of


def stat_rows(totals: Totals, recorder: Recorder) -> tuple[StatRow, ...]:
    """What is counted under a name not known here comes last, under that name."""
    counts = _counts(totals, recorder)
    words = STATS | {name: _unknown(name) for name in counts if name not in STATS}
    return tuple(
        StatRow(name, word.label, word.level, counts[name], counts.get(word.share_of))
        for name, word in words.items()
        if name in counts and not (word.is_rare and not counts[name])
    )


def _counts(totals: Totals, recorder: Recorder) -> Mapping[str, int]:
    if recorder.mode != "exact":  # not every allocation asks for its stack
        return recorder.stats
    recalled = max(0, totals.allocations - recorder.stats["walks"])
    return {ALLOCATIONS: totals.allocations, RECALLED: recalled, **recorder.stats}


def _unknown(name: str) -> StatWords:
    return StatWords(name.replace("_", " "), 0)
