"""What cachegrind counted, by function of the library, and how it is shown beside plain."""

from __future__ import annotations

from simulate import beside
from suite.cachegrind import Cost, read_costs

# A function of the library, with what is inlined into it from a header, and one of the program.
# Counts of 0 at the end of a line are left out.
PROFILE = """\
desc: I1 cache: 32768 B, 64 B, 8-way associative
cmd: ./program
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw
fl=/src/native/src/recall.c
fn=hg_recall_by_words
20 100 3 1 40 7 2 10 5 4
21 50
fl=/src/native/src/recall.h
fn=hg_recall_by_words
114 10 0 0 5 1
fl=???
fn=main
0 1000 9 0 1 1 1
summary: 1160 12 1 46 9 3 10 5 4
"""


def test_costs_are_those_of_functions_with_what_is_inlined() -> None:
    costs = read_costs(PROFILE)
    assert costs.functions == {"hg_recall_by_words": Cost(160, 3 + 7 + 5 + 1, 1 + 2 + 4)}
    assert costs.library == Cost(160, 16, 7)
    assert costs.total == Cost(1160, 12 + 9 + 5, 1 + 3 + 4)


def test_plain_is_what_others_are_compared_with() -> None:
    assert beside(2_500_000, 2_000_000).split() == ["2.5", "1.250x"]
    assert beside(2_500_000, 0).split() == ["2.5"]
