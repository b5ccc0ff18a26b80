from __future__ import annotations

import numpy as np
import pytest

from heapglass.analysis.filters import FilterField, at_least, parse_filter, passes_all
from heapglass.analysis.order import SortKey
from heapglass.analysis.stacks import NamedStack
from heapglass.errors import UsageError
from unit.fake_source import frame, site_table

STACK = NamedStack(
    (
        frame("std::vector<int>::reserve", "/usr/include/c++/vector.h", 7),
        frame("app::Load", "/src/load.cc", 12, module="/usr/lib/libload.so.1"),
        frame("main", "/src/main.cc", 3),
    )
)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("load.cc", True),
        ("APP::LOAD", True),
        ("libload", True),
        ("vector<int>", True),
        ("std::vector", True),
        ("nothing", False),
        ("lo.d", False),
        ("function:^app::", True),
        ("function:^main$", True),
        ("function:load\\.cc", False),
        ("file:load\\.cc$", True),
        ("file:Load", False),
        ("file:(?i)LOAD", True),
        ("module:libload", True),
        ("module:main.cc", False),
    ],
)
def test_any_frame_may_match(text: str, passes: bool) -> None:  # noqa: FBT001
    assert parse_filter(text).passes(STACK) is passes


def test_a_second_colon_is_a_name_not_a_field() -> None:
    assert parse_filter("file::open").field is FilterField.ANY


def test_all_filters_must_pass_but_not_on_one_frame() -> None:
    assert passes_all(STACK, [parse_filter("main"), parse_filter("vector")])
    assert not passes_all(STACK, [parse_filter("main"), parse_filter("nothing")])
    assert passes_all(STACK, [])


@pytest.mark.parametrize("text", ["function:[", "file:(", "module:*"])
def test_a_bad_expression_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="is not a regular expression"):
        parse_filter(text)


@pytest.mark.parametrize("text", ["", "function:"])
def test_an_empty_filter_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        parse_filter(text)


@pytest.mark.parametrize(
    ("key", "ids"),
    [(SortKey.LIVE, [2, 4]), (SortKey.PEAK, [3]), (SortKey.ALLOCATIONS, [4])],
)
def test_the_minimum_is_held_against_what_is_sorted_by(key: SortKey, ids: list[int]) -> None:
    table = site_table(
        [
            {"id": 2, "live_bytes": 100},
            {"id": 3, "live_bytes": 99, "peak_bytes": 500, "allocations": 1000},
            {"id": 4, "live_bytes": 101, "bytes_allocated": 200},
        ]
    )
    assert table.id[at_least(table, np.arange(3), key, 100)].tolist() == ids
