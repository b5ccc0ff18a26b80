"""How runs become numbers: the least disturbed of both sides, with the spread of neighbours."""

from __future__ import annotations

import pytest
from suite.figures import CPU, OVER_NS, THROUGHPUT, reach
from suite.measure import Cost, own_numbers


def costs(key: str, *values: float) -> list[Cost]:
    return [Cost({key: value}) for value in values]


def test_the_least_disturbed_runs_are_compared() -> None:
    reached = reach(OVER_NS, costs("ns", 10, 8, 9), costs("ns", 30, 29, 50))
    assert reached
    assert reached.value == 29 - 8


def test_the_spread_is_that_of_neighbours() -> None:
    reached = reach(OVER_NS, costs("ns", 10, 8, 9), costs("ns", 30, 29, 50))
    assert reached
    assert (reached.lowest, reached.median, reached.highest) == (20, 21, 41)
    assert reached.rounds == 3


def test_failed_runs_do_not_count() -> None:
    tool = [Cost({"cpu_s": 1.0}, "out of time"), Cost({"cpu_s": 3.0})]
    reached = reach(CPU, costs("cpu_s", 2.0, 2.0), tool)
    assert reached
    assert reached.value == 1.5


def test_nothing_is_reached_without_runs() -> None:
    assert reach(CPU, costs("cpu_s", 2.0), []) is None
    assert reach(CPU, [], costs("cpu_s", 2.0)) is None


def test_throughput_is_the_share_of_plains_and_better_high() -> None:
    reached = reach(THROUGHPUT, costs("wall_ns", 20), costs("wall_ns", 25))
    assert reached
    assert reached.value == pytest.approx(80)
    assert THROUGHPUT.reaches(80, 65)
    assert not THROUGHPUT.reaches(60, 65)
    assert OVER_NS.reaches(12, 12)
    assert not OVER_NS.reaches(12.1, 12)


def test_numbers_are_found_among_other_output() -> None:
    text = "hello world\nns 12.5\nwall_ns 3\nkey: 4\nns2 5\n1 2\nlate_ns x\n"
    assert own_numbers(text) == {"ns": 12.5, "wall_ns": 3.0}
