from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from heapglass.analysis.suspects import Certainty, Span, find_suspects, levels_at, suspects_of
from heapglass.model import BlockTable
from unit.fake_source import FakeBlocks, FakeSite, FakeSource, frame, snapshot

SPAN = Span(0, 1000)
ALL_ALONG = range(50, 1000, 100)


def blocks(*live: FakeBlocks) -> BlockTable:
    return FakeSource(live=live).blocks()


def certainty(births: Sequence[int], level: int | None = None) -> Certainty:
    levels = None if level is None else {1: level}
    (suspect,) = find_suspects(blocks(FakeBlocks(1, 10, births)), SPAN, levels)
    return suspect.certainty


@pytest.mark.parametrize(
    ("births", "level", "expected"),
    [
        (ALL_ALONG, None, Certainty.GROWING),
        (ALL_ALONG, 50, Certainty.GROWING),
        (ALL_ALONG, 100, Certainty.KEPT),  # it held as much at half time: it only changes
        ([10] * 500, None, Certainty.KEPT),
        ([10, 500], 0, Certainty.KEPT),  # two blocks tell nothing
        ([950] * 500, 0, Certainty.RECENT),
        ([10, *[950] * 500], 0, Certainty.RECENT),
    ],
)
def test_ages_and_growth_decide(
    births: Sequence[int], level: int | None, expected: Certainty
) -> None:
    assert certainty(births, level) is expected


def test_the_most_certain_come_first_then_the_largest() -> None:
    live = blocks(
        FakeBlocks(5, 1 << 20, [990]),
        FakeBlocks(2, 10, [5]),
        FakeBlocks(4, 8, ALL_ALONG),
        FakeBlocks(3, 500, [5]),
    )
    found = find_suspects(live, SPAN, None)
    assert [one.site for one in found] == [4, 3, 2, 5]
    growing = found[0]
    assert (growing.blocks, growing.size_bytes, growing.parts) == (10, 80, 10)
    assert (growing.oldest_ns, growing.median_ns) == (950, 500)


def test_nothing_live_is_nothing_suspect() -> None:
    assert find_suspects(blocks(), SPAN, None) == ()


def test_levels_are_those_of_half_time() -> None:
    history = [snapshot(time, [(1, 1, time, 1, 1)]) for time in (100, 480, 900)]
    assert levels_at(history, SPAN) == {1: 480}
    assert levels_at(history[:1], SPAN) is None
    assert levels_at([], SPAN) is None


def test_a_sample_counts_for_many() -> None:
    live = blocks(FakeBlocks(1, 64, ALL_ALONG))
    sampled = BlockTable(live.address, live.size, live.site, live.birth_ns, live.size * 0 + 6400)
    (one,) = find_suspects(sampled, SPAN, None)
    assert one.blocks == pytest.approx(1005, abs=1)
    assert one.size_bytes == pytest.approx(64 * 1005, abs=64)
    assert np.isclose(one.median_ns, 500)


def test_sampled_blocks_have_errors() -> None:
    exact = blocks(FakeBlocks(1, 100, [5, 5]))
    (known,) = find_suspects(exact, SPAN, None)
    assert (known.blocks_error, known.bytes_error) == (0, 0)
    interval = 100 / np.log(2)  # so that each of them is sampled with one half
    sampled = replace(exact, sample_bytes=np.array([interval, interval]))
    (found,) = find_suspects(sampled, SPAN, None)
    assert (found.blocks, found.size_bytes) == (4, 400)
    # Each adds w² - w = 2 to the variance of the count.
    assert found.blocks_error == pytest.approx(2.0)
    assert found.bytes_error == pytest.approx(200.0)


def judged(held: Sequence[int], blocks: int = 10) -> Certainty:
    """Of a site that held so many bytes at the end of each tenth, the last being the moment's."""
    steps = [
        snapshot(tenth * 100 + 50, [(2, blocks, size, blocks, size)])
        for tenth, size in enumerate(held[:-1])
    ]
    site = FakeSite((frame("f"),), allocations=blocks, bytes_allocated=held[-1])
    ((suspect,), knows_growth) = suspects_of(FakeSource([site]).sites(), steps, SPAN)
    assert knows_growth == (len(held) > 5)
    assert (suspect.oldest_ns, suspect.median_ns, suspect.parts) == (None, None, None)
    return suspect.certainty


@pytest.mark.parametrize(
    ("held", "blocks", "expected"),
    [
        (range(10, 110, 10), 10, Certainty.GROWING),
        (range(10, 110, 10), 2, Certainty.KEPT),  # two blocks tell nothing
        ([100] * 10, 10, Certainty.KEPT),
        ([10, 10, 10, 10, 10, 10, 100, 100, 100, 100], 10, Certainty.KEPT),  # it grew once
        ([0] * 9 + [100], 10, Certainty.RECENT),
        ([10] * 9 + [100], 10, Certainty.RECENT),
        ([0] * 6 + [100], 10, Certainty.KEPT),  # no snapshot tells when it came
        ([100], 10, Certainty.KEPT),  # there is no snapshot
        ([50, 100], 10, Certainty.KEPT),  # nor one near half time
    ],
)
def test_of_a_moment_the_snapshots_decide(
    held: Sequence[int], blocks: int, expected: Certainty
) -> None:
    assert judged(held, blocks) is expected


def test_of_a_moment_only_what_is_live_is_suspect() -> None:
    table = FakeSource([FakeSite((frame("f"),), peak_bytes=10)]).sites()
    assert suspects_of(table, [], SPAN) == ((), False)
