from __future__ import annotations

import pytest

from heapglass.trial.program import LEAST_ROUNDS, MOST_ROUNDS, usual_rounds


@pytest.mark.parametrize(
    ("elapsed", "modes", "expected"),
    [(0.0, 3, MOST_ROUNDS), (0.01, 3, MOST_ROUNDS), (1.0, 2, 10), (60.0, 3, LEAST_ROUNDS)],
)
def test_rounds_fit_a_reasonable_time(elapsed: float, modes: int, expected: int) -> None:
    assert usual_rounds(elapsed, modes) == expected
