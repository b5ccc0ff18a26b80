"""Growth curves: what is over plain, how it compares, and how a curve is continued."""

from __future__ import annotations

import itertools

import pytest
from suite.curves import CURVES, MOST_ROUNDS, Curve, Point, continued, is_enough, point_of
from suite.measure import Command, Cost
from suite.session import FULL
from suite.tables import curve_table
from suite.workloads import Scale

POINTS = [Point(10, 5, 25), Point(100, 6, 31), Point(1000, 7, 37), Point(10_000, 8, 43)]


def curve(beyond: int = 0) -> Curve:
    return Curve("growth", "things", [], 0, lambda _, __: Command([]), beyond=beyond)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_straight_line_goes_on() -> None:
    assert continued(POINTS, 100_000) == pytest.approx(40)


def test_only_the_last_three_points_say_how_it_goes_on() -> None:
    assert continued([Point(1, 0, 999), *POINTS], 100_000) == pytest.approx(40)


def test_two_points_are_no_curve() -> None:
    assert continued(POINTS[:2], 100_000) is None


def test_the_table_shows_each_point_in_units_of_the_first() -> None:
    table = curve_table(curve(), POINTS)
    assert cells(table[0]) == [
        "things",
        "plain ns",
        "heapglass ns",
        "over plain",
        "min..median..max",
        "x plain",
        "x first",
    ]
    assert cells(table[2]) == ["10", "5.0", "25.0", "20.0", "-", "5.00", "1.00"]
    assert cells(table[5]) == ["10,000", "8.0", "43.0", "35.0", "-", "5.38", "1.75"]
    assert len(table) == 6


def test_what_was_not_measured_is_told_as_that() -> None:
    last = cells(curve_table(curve(beyond=100_000), POINTS)[-1])
    assert last == ["100,000 (continued)", "-", "-", "40.0", "-", "-", "2.00"]


def test_a_measured_point_is_not_continued() -> None:
    assert len(curve_table(curve(beyond=10_000), POINTS)) == 6


def test_throughput_is_shown_where_it_was_told() -> None:
    table = curve_table(curve(), [Point(1, 20, 25, kept=0.8), Point(2, 20, 30, kept=0.654)])
    assert [cells(line)[-1] for line in table[2:]] == ["80 %", "65 %"]


def test_the_least_disturbed_run_of_each_side_counts_and_the_rounds_are_the_spread() -> None:
    plain = [Cost({"ns": ns}) for ns in (9.0, 8.0, 8.5)]
    ours = [Cost({"ns": ns}) for ns in (25.0, 28.0, 26.5)]
    point = point_of("ns", 10, plain, ours)
    assert (point.plain_ns, point.heapglass_ns) == (8, 25)
    assert cells(curve_table(curve(), [point])[2])[3:5] == ["17.0", "16.0..18.0..20.0"]


def test_a_point_without_numbers_is_told_as_that_and_the_others_stand() -> None:
    lost = point_of("ns", 1, [Cost({"ns": 8.0})], [Cost({}, "out of time")])
    table = curve_table(curve(beyond=100_000), [lost, *POINTS])
    assert cells(table[2])[3] == "out of time"
    assert cells(table[3])[-1] == "1.00"
    assert cells(table[-1])[0] == "100,000 (continued)"


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [(200, 1), (25, 2), (11, 5), (0.4, 5), (0.1, 11), (0.001, MOST_ROUNDS)],
)
def test_points_that_take_long_have_fewer_rounds(seconds: float, rounds: int) -> None:
    asked = (done for done in itertools.count() if is_enough(done, done * seconds, FULL))
    assert next(asked) == rounds


def test_events_are_counted_one_by_one_up_to_ten_thousand_million() -> None:
    events = next(curve for curve in CURVES if curve.name == "growth-events")
    assert events.points[-1] == 10**10
    _, _, pairs, rounds = events.command(10**10, Scale(is_quick=False)).argv
    assert 2 * int(pairs) * int(rounds) == 10**10


def test_no_points_make_an_empty_table() -> None:
    assert len(curve_table(curve(beyond=10), [])) == 2
