from __future__ import annotations

from heapglass.trial.figures import Spread, compare, spread_of


def test_the_least_of_each_side_is_compared() -> None:
    found = compare([10.0, 20.0, 12.0], [15.0, 22.0, 30.0])
    assert (found.least, found.over, found.ratio) == (15.0, 5.0, 1.5)


def test_the_spread_is_of_runs_beside_each_other() -> None:
    found = compare([10.0, 20.0, 12.0], [15.0, 22.0, 30.0])
    assert found.over_spread == Spread(2.0, 5.0, 18.0)
    assert found.ratio_spread == Spread(1.1, 1.5, 2.5)


def test_plain_is_compared_with_its_own_least() -> None:
    plain = [10.0, 20.0, 12.0]
    found = compare(plain, plain)
    assert (found.over, found.ratio) == (0.0, 1.0)
    assert found.ratio_spread == Spread(1.0, 1.2, 2.0)


def test_nothing_measured_is_no_division_by_zero() -> None:
    assert compare([0.0, 0.0], [0.0, 0.1]).ratio_spread == Spread(1.0, 1.0, 1.0)


def test_one_round_has_a_spread_of_one_value() -> None:
    assert spread_of([3.0]) == Spread(3.0, 3.0, 3.0)
