from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.model import Snapshot
from heapglass.model.tables import I64
from heapglass.web.moments import COLUMNS, MOST_MOMENTS, History, coarsen, fit_history, read_history

SITES = 5
PLACE = np.arange(SITES)
HISTORIES = st.lists(
    st.lists(st.integers(0, 1_000_000), min_size=SITES, max_size=SITES), min_size=1, max_size=30
)


def tell(values: list[list[int]]) -> Iterator[Snapshot]:
    """Live bytes of all sites, snapshot by snapshot."""
    for time, row in enumerate(values):
        live = np.array(row, np.int64)
        yield Snapshot(time, PLACE, live // 10, live, live * 3, live * 30)


def live_at(history: History) -> list[I64]:
    sums = np.zeros((SITES, len(COLUMNS)), np.int64)
    found = []
    for moment in history.moments:
        np.add.at(sums, moment.site, moment.change)
        found.append(sums[:, COLUMNS.index("live_bytes")].copy())
    return found


@given(HISTORIES)
def test_changes_add_up_to_the_snapshots(values: list[list[int]]) -> None:
    history = read_history(tell(values), PLACE, SITES)
    assert [live.tolist() for live in live_at(history)] == values
    assert history.taken == len(values)


@given(HISTORIES, st.floats(1e-4, 0.5))
def test_a_coarse_history_is_off_by_less_than_its_grain(
    values: list[list[int]], grain: float
) -> None:
    whole = read_history(tell(values), PLACE, SITES)
    coarse = coarsen(whole, grain)
    most = max(sum(row) for row in values)
    for live, row, moment in zip(live_at(coarse), values, coarse.moments, strict=True):
        assert np.all(np.abs(live - row) <= grain * max(most, 1))
        assert moment.total[COLUMNS.index("live_bytes")] == sum(row)


@pytest.mark.parametrize("count", [1, MOST_MOMENTS, 2 * MOST_MOMENTS + 1, 5 * MOST_MOMENTS])
def test_long_histories_keep_some_moments_exactly(count: int) -> None:
    values = [[n, 2 * n, n % 7, 0, 1] for n in range(count)]
    history = read_history(tell(values), PLACE, SITES)
    assert min(count, MOST_MOMENTS // 2) <= len(history.moments) <= MOST_MOMENTS
    for live, moment in zip(live_at(history), history.moments, strict=True):
        assert live.tolist() == values[moment.time_ns]
    steps = np.diff([moment.time_ns for moment in history.moments])
    assert len(set(steps.tolist())) <= 1


def entries(history: History) -> bytes:
    return b"x" * sum(len(moment.site) for moment in history.moments)


def test_a_history_is_thinned_until_it_fits() -> None:
    random = np.random.default_rng(3)
    values = random.integers(0, 100_000, (300, SITES)).tolist()
    history = read_history(tell(values), PLACE, SITES)
    assert len(fit_history(history, entries, 10_000)) == 300 * SITES
    assert len(fit_history(history, entries, 800)) == 150 * SITES
    assert 0 < len(fit_history(history, entries, 300)) <= 300
    assert fit_history(history, entries, 0) == b""


def test_sites_the_report_does_not_know_are_left_to_the_rest() -> None:
    place = np.array([-1, 0, 1])
    snapshot = Snapshot(7, np.array([0, 1, 2, 9]), *[np.array([8, 4, 2, 1])] * 4)
    (moment,) = read_history([snapshot], place, 2).moments
    assert moment.site.tolist() == [0, 1]
    assert moment.change[:, 0].tolist() == [4, 2]
