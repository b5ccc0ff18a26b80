"""Instruction counts: what callgrind wrote, and when a count is a regression."""

from __future__ import annotations

import pytest
from instructions import Taken, check, complaint
from suite.callgrind import read_counts

# One function of the library that calls one of the C library; names are given once, then by number.
PROFILE = """\
events: Ir
fl=(1) native/src/recorder.c
ob=(1) /tmp/libheapglass.so
fn=(1) hg_recorder_allocated
10 100
+2 20
fi=(2) native/src/ledger.h
5 30
fe=(1)
12 4
cob=(2) /lib/libc.so.6
cfi=(3) malloc.c
cfn=(2) malloc
calls=1 50
14 5000
15 6

ob=(2)
fl=(3)
fn=(2)
50 5000
totals: 5160
"""


def test_costs_of_calls_are_their_callees() -> None:
    counts = read_counts(PROFILE, "libheapglass.so")
    assert counts.total == 100 + 20 + 30 + 4 + 6 + 5000
    assert counts.files == {"recorder": 130, "ledger": 30}


def test_within_the_margin_nothing_is_said() -> None:
    assert complaint("pair", Taken(107, {}), Taken(100, {}), margin=0.05) == ""


def test_a_regression_names_the_file_it_grew_in() -> None:
    now, before = Taken(120, {"walk": 60, "peak": 60}), Taken(100, {"walk": 40, "peak": 60})
    text = complaint("pair", now, before, margin=0.05)
    assert text == "pair: 120 instructions, were 100 (walk +20.0)"


def test_a_way_that_is_not_compared_fails(capsys: pytest.CaptureFixture[str]) -> None:
    same = {"pair": Taken(100, {})}
    assert check("cc", same, same) == 0
    assert check("cc", {**same, "walk": Taken(9, {})}, {**same, "new": Taken(9, {})}) == 1
    assert capsys.readouterr().err.splitlines() == [
        "new: not in the baseline",
        "walk: no longer counted",
    ]
