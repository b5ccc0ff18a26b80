"""What threads did at some sites."""

from __future__ import annotations

from heapglass.analysis.filters import parse_filter
from heapglass.analysis.grouping import GroupBy
from heapglass.views.groups import build_groups
from heapglass.views.json.documents import counters_document
from heapglass.views.selection import TableQuery
from heapglass.views.threads import ThreadQuery, build_threads
from unit.fake_source import FakeNames, FakeSite, FakeSource, frame

MADE = (frame("make"),)
PASSED_ON = FakeSource(
    (
        FakeSite(MADE, allocations=50, bytes_allocated=5000, samples=4),
        FakeSite(MADE, frees=40, bytes_freed=4000, frees_samples=True, shard=1),
    ),
    thread_names=(("producer", 0), ("consumer", 1)),
)


def test_what_is_freed_for_others_is_an_estimate() -> None:
    query = ThreadQuery(filters=(parse_filter("make"),))
    rows = {row.name: row for row in build_threads(PASSED_ON, FakeNames(PASSED_ON), query).rows}
    errors = rows["consumer"].errors
    assert errors is not None
    assert errors.frees == 4


def test_so_it_is_in_a_grouping() -> None:
    view = build_groups(PASSED_ON, FakeNames(PASSED_ON), TableQuery(), GroupBy.THREAD)
    consumer = next(group for group in view.rows if group.key.name == "consumer")
    document = counters_document(consumer.counters)
    assert document["samples"] == 0
    assert document["errors"]["bytes_freed"] == 400
