from __future__ import annotations

import numpy as np

from heapglass.analysis.suppressions import parse_suppressions
from heapglass.views.leaks import LeakQuery, build_leaks
from heapglass.web.trends import WORDS, find_trends
from unit.fake_source import FakeNames
from unit.web.told_heap import growing_heap, silent_heap, told_heap

PLACE = np.array([-1, -1, 0, 1, 2, 3])


def words(numbers: list[int]) -> list[str]:
    return [WORDS[number] for number in numbers]


def test_each_site_is_what_leaks_calls_it() -> None:
    heap = growing_heap()
    names = FakeNames(heap)
    view = build_leaks(heap, names, LeakQuery())
    judged = {one.site: one.certainty.value for row in view.rows for one in row.suspects}
    assert judged == {2: "growing", 4: "kept", 5: "recent"}
    found = find_trends(heap, heap.blocks(), names, ())
    assert {site: WORDS[word] for site, word in found.word.items()} == judged
    assert found.growing_bytes == 44_000_000
    assert found.knows_growth
    assert words(found.by_place(PLACE, 4).tolist()) == ["growing", "", "kept", "recent"]


def test_of_sites_shown_as_one_the_most_certain_tells() -> None:
    heap = growing_heap()
    found = find_trends(heap, heap.blocks(), FakeNames(heap), ())
    together = np.array([-1, -1, 0, 0, 1, 1])
    assert words(found.by_place(together, 2).tolist()) == ["growing", "kept"]


def test_what_leaks_leaves_out_is_the_runtimes() -> None:
    heap = growing_heap()
    names = FakeNames(heap)
    suppressions = tuple(parse_suppressions("leak:main", "some.supp"))
    found = find_trends(heap, heap.blocks(), names, suppressions)
    assert set(words(list(found.word.values()))) == {"runtime"}
    assert found.growing_bytes == 0


def test_without_snapshots_ages_tell_alone() -> None:
    heap = growing_heap()
    heap.told = ()
    found = find_trends(heap, heap.blocks(), FakeNames(heap), ())
    assert not found.knows_growth
    assert words([found.word[2]]) == ["growing"]


def test_nothing_remains() -> None:
    heap = silent_heap()
    found = find_trends(heap, heap.blocks(), FakeNames(heap), ())
    assert (found.word, found.growing_bytes) == ({}, 0)
    assert len(told_heap().blocks()) == 3
