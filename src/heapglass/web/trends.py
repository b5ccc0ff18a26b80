"""What `heapglass leaks` judges of what remains of each site: growing, kept, recent, or a runtime's
own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from heapglass.analysis.suppressions import Suppression, Suppressor
from heapglass.analysis.suspects import Certainty, Span, Suspect, find_suspects, levels_at
from heapglass.model import BlockTable, HeapSource
from heapglass.model.tables import I64
from heapglass.views.naming import Resolver, name_stacks

# As the page counts them: 0 is a site of which nothing remains.
WORDS = ("", *Certainty, "runtime")
_LEFT_OUT = len(WORDS) - 1


@dataclass(frozen=True, slots=True)
class Trends:
    word: Mapping[int, int]  # by site: a place in WORDS; the least certain sites first
    growing_bytes: int
    knows_growth: bool  # there is a snapshot to compare with

    def by_place(self, place: I64, count: int) -> I64:
        """Of `count` sites of a report, which several of the source's may be one in: then the most
        certain one tells. `place` gives the number in the report by id."""
        words = np.zeros(count, dtype=np.int64)
        for site, word in self.word.items():
            if site < len(place) and place[site] >= 0:
                words[place[site]] = word
        return words


def find_trends(
    source: HeapSource,
    blocks: BlockTable,
    resolver: Resolver,
    suppressions: Sequence[Suppression],
) -> Trends:
    span = Span(0, source.process.duration_ns)
    levels = levels_at(source.snapshots(), span)
    suspects = find_suspects(blocks, span, levels)
    suppressor = Suppressor(suppressions)
    stacks = name_stacks(source, resolver, [one.site for one in suspects])
    is_left_out = {one: suppressor.find(stacks[one.site]) is not None for one in suspects}
    growing = (
        one.size_bytes
        for one in suspects
        if one.certainty is Certainty.GROWING and not is_left_out[one]
    )
    words = {one.site: _LEFT_OUT if is_left_out[one] else _word(one) for one in suspects}
    least_first = sorted(words.items(), key=itemgetter(1), reverse=True)
    return Trends(dict(least_first), sum(growing), levels is not None)


def _word(suspect: Suspect) -> int:
    return WORDS.index(suspect.certainty)
