"""Standard errors of windows and of some threads, from those of the whole."""

from __future__ import annotations

import pytest

from heapglass.analysis.counters import counters_at
from heapglass.analysis.threads import add_tables
from heapglass.analysis.windows import subtract_sites
from heapglass.views.json.documents import counters_document
from unit.fake_source import site_table


def test_what_came_in_a_window_has_only_its_own_variance() -> None:
    first = site_table([{"id": 2, "allocations": 10, "allocations_error": 3}])
    last = site_table([{"id": 2, "allocations": 30, "allocations_error": 5}])
    found = subtract_sites(last, first)
    assert found.allocations.tolist() == [20]
    assert found.allocations_error.tolist() == [4]
    assert subtract_sites(first, last).allocations_error.tolist() == [0], "rounding, not nonsense"


def test_what_is_held_may_all_have_been_replaced() -> None:
    first = site_table([{"id": 2, "live_bytes": 10, "live_bytes_error": 3}])
    last = site_table([{"id": 2, "live_bytes": 30, "live_bytes_error": 4}])
    assert subtract_sites(last, first).live_bytes_error.tolist() == [5]


def test_blocks_that_one_thread_allocated_and_another_freed_are_live_for_none() -> None:
    producer = {"id": 2, "allocations": 9, "allocations_error": 5, "live_blocks_error": 5}
    consumer = {"id": 2, "frees": 9, "frees_error": 3, "live_blocks_error": 3}
    whole = site_table([{"id": 2, "live_blocks_error": 4}])
    both = add_tables([site_table([producer]), site_table([consumer])], whole)
    assert both.live_blocks_error.tolist() == pytest.approx([4])
    alone = add_tables([site_table([consumer])], whole)
    assert alone.live_blocks_error.tolist() == pytest.approx([3])


def test_a_thread_that_only_frees_has_estimates_all_the_same() -> None:
    consumer = {"id": 2, "frees": 9, "frees_error": 3, "sample_bytes": 512}
    whole = site_table([{"id": 2, "samples": 5, "sample_bytes": 1024}])
    part = counters_at(add_tables([site_table([consumer])], whole), 0)
    assert (part.samples, part.sample_bytes, part.is_estimated) == (0, 512, True)
    assert counters_document(part)["errors"]["frees"] == pytest.approx(3)
