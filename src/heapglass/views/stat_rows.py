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
    alone: str = ""  # the label where the row that it is a part of is not shown


STATS: dict[str, StatWords] = {
    ALLOCATIONS: StatWords("allocations", 0),
    RECALLED: StatWords("stack recalled", 1, ALLOCATIONS),
    "other_words": StatWords(
        "by a hash of its words", 2, ALLOCATIONS, alone="stack recalled by a hash of its words"
    ),
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
    rows: list[StatRow] = []
    above: list[int] = []  # levels in STATS of the rows that the next one may be a part of
    for name, word in words.items():
        if name not in counts or (word.is_rare and not counts[name]):
            continue
        above = [level for level in above if level < word.level]
        is_part = not word.level or word.level - 1 in above
        label = word.label if is_part else word.alone or word.label
        rows.append(StatRow(name, label, len(above), counts[name], counts.get(word.share_of)))
        above.append(word.level)
    return tuple(rows)


def _counts(totals: Totals, recorder: Recorder) -> Mapping[str, int]:
    if recorder.mode != "exact":  # not every allocation asks for its stack
        return recorder.stats
    recalled = max(0, totals.allocations - recorder.stats["walks"])
    return {ALLOCATIONS: totals.allocations, RECALLED: recalled, **recorder.stats}


def _unknown(name: str) -> StatWords:
    return StatWords(name.replace("_", " "), 0)
