"""Parts of the hot path: what their rounds say, and what is said when there are none."""

from __future__ import annotations

from suite.measure import Cost
from suite.parts import PARTS, SOURCES, Part, measured
from suite.tables import part_row

WALK = Part("walk", {"walk": "a walk"})


def test_the_best_round_counts() -> None:
    part = measured(WALK, "walk", [Cost({"walk": ns}) for ns in (3.0, 2.5, 4.0)], "")
    assert part_row(part) == ("a walk", "2.50", "2.50..3.00..4.00")


def test_a_part_that_does_not_build_is_told_as_that() -> None:
    assert part_row(measured(WALK, "walk", [], "does not build")) == (
        "a walk",
        "-",
        "does not build",
    )


def test_a_part_that_fails_is_told_as_that() -> None:
    part = measured(WALK, "walk", [Cost({}, "failed with 1")], "")
    assert part_row(part) == ("a walk", "-", "failed with 1")


def test_each_program_is_a_part_and_each_part_a_program() -> None:
    assert {part.source for part in PARTS} == {path.stem for path in SOURCES.glob("*.c")}
