"""The process's greatest RSS beside the heap's peak."""

from __future__ import annotations

from typing import Any

import pytest

from heapglass.analysis.moments import PeakHeap
from heapglass.model import GreatestRss, LossKind
from heapglass.units import Units
from heapglass.views.json.documents import summary_document
from heapglass.views.summary import SummaryQuery, build_summary, residency_sentences
from unit.cli.sample_heap import sample_heap
from unit.fake_source import FakeNames

MIB = 1 << 20
HEAPGLASS = 4 * MIB


def said(rss: int, *, at_most: int = 0, **changes: Any) -> str:
    """Of a heap with a peak of 28.1 MiB."""
    heap = sample_heap()
    heap.greatest_rss = GreatestRss(rss, HEAPGLASS, max(rss, at_most))
    for name, value in changes.items():
        setattr(heap, name, value)
    (sentence,) = residency_sentences(heap, heap.sites(), Units.IEC)
    return sentence


def test_what_is_no_heap_is_seen_beside_the_peak() -> None:
    assert said(1186 * MIB) == (
        "RSS 1.2 GiB, heapglass's own taken out: at most 28.1 MiB of it was live heap."
    )


def test_a_forked_process_has_its_parents_memory_too() -> None:
    assert said(104 * MIB, is_forked=True).endswith("was live heap that it allocated itself.")


def test_memory_that_was_never_touched_is_not_resident() -> None:
    assert said(14 * MIB) == (
        "RSS 10.0 MiB, heapglass's own taken out: less than the heap's peak, not all of which was"
        " ever touched."
    )


def test_what_may_have_been_more_is_a_range() -> None:
    sentence = said(44 * MIB, at_most=104 * MIB)
    assert sentence.startswith("RSS 40.0 MiB to 100 MiB, heapglass's own taken out: at most 28.1")


@pytest.mark.parametrize(
    "changes",
    [
        {"paused_ns": 1},
        {"ladder": ("dropping", "budget", 1)},
        {"loss_items": {LossKind.UNKNOWN_FREE: 10**6}},
    ],
)
def test_a_peak_that_misses_blocks_bounds_nothing(changes: dict[str, Any]) -> None:
    assert said(104 * MIB, **changes) == "RSS 100 MiB, heapglass's own taken out."


def test_a_peak_that_may_be_higher_bounds_less() -> None:
    assert "at most 29.1 MiB" in said(104 * MIB, peak_error_bytes=MIB)


@pytest.mark.parametrize("greatest", [None, GreatestRss(0, 0, 0)])
def test_nothing_is_said_where_it_is_not_known(greatest: GreatestRss | None) -> None:
    heap = sample_heap()
    heap.greatest_rss = greatest
    assert residency_sentences(heap, heap.sites()) == ()


def test_a_moment_has_none() -> None:
    heap = sample_heap()
    heap.greatest_rss = GreatestRss(104 * MIB, HEAPGLASS, 104 * MIB)
    whole = build_summary(heap, FakeNames(heap), SummaryQuery())
    assert len(whole.residency) == 1
    assert summary_document(whole)["greatest_rss"] == {
        "bytes": 104 * MIB,
        "heapglass_bytes": HEAPGLASS,
        "at_most_bytes": 104 * MIB,
    }
    peak = build_summary(PeakHeap(heap), FakeNames(heap), SummaryQuery())
    assert peak.residency == ()
    assert summary_document(peak)["greatest_rss"] is None


def test_recordings_of_old_say_nothing() -> None:
    heap = sample_heap()
    view = build_summary(heap, FakeNames(heap), SummaryQuery())
    assert summary_document(view)["greatest_rss"] is None
