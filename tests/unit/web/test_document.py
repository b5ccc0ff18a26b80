from __future__ import annotations

import numpy as np

from heapglass.web.document import Document, ReportQuery, build_document
from heapglass.web.site_columns import find_weightiest
from heapglass.web.timeline_columns import MOST_POINTS, thin_timeline
from unit.fake_source import FakeNames, FakeSite, frame, site_table
from unit.web.told_heap import ToldHeap, silent_heap, told_heap
from unit.web.unpacked import unpack

ROOM = 2_000_000


def build(heap: ToldHeap, room: int = ROOM) -> Document:
    return build_document(heap, FakeNames(heap, ["no symbols"]), ReportQuery(room), lambda *_: None)


def test_counters_of_all_sites_are_there() -> None:
    heap = told_heap()
    facts, columns = unpack(build(heap).core)
    table = heap.sites()
    for name in ("peak_bytes", "live_bytes", "bytes_allocated", "allocations", "temporary"):
        assert sorted(columns[f"site_{name}"]) == sorted(getattr(table, name).tolist())
    assert facts["totals"]["peak_bytes"] == heap.totals.peak_bytes
    assert facts["warnings"] == ["no symbols"]
    assert facts["marks"] == []
    assert "site_peak_bytes_error" not in columns


def test_history_and_births_are_there() -> None:
    facts, columns = unpack(build(told_heap()).history)
    assert columns["moment_time_ns"] == [10**9, 2 * 10**9, 3 * 10**9]
    assert columns["moment_live_bytes"] == [1_004_096, 20_064_096, 21_215_999]
    assert sum(columns["entry_live_bytes"]) == 21_215_999
    assert sum(columns["moment_entries"]) == len(columns["entry_site"])
    assert sorted(columns["birth_share"]) == [250_000, 750_000, 1_000_000]
    assert facts["thinned"] == []
    assert facts["resolution"] == "3 snapshots, about one in 1.1 s"


def test_a_heap_without_anything() -> None:
    document = build(silent_heap())
    facts, columns = unpack(document.core)
    assert columns["site_node"] == []
    assert facts["command"] == "/usr/bin/app"
    assert unpack(document.history)[0]["resolution"] == "no snapshots"


def many_sites(count: int) -> ToldHeap:
    sites = [
        FakeSite(
            (frame(f"function_{n * 7919 % 10007}", f"file_{n}.c", n), frame("main")),
            allocations=n,
            bytes_allocated=n * 100,
            peak_bytes=n * 50,
        )
        for n in range(1, count + 1)
    ]
    return ToldHeap(sites, told=(), remaining=())


def test_the_smallest_sites_become_one_where_there_is_no_room() -> None:
    heap = many_sites(250)
    whole = build(heap)
    assert len(unpack(whole.core)[1]["site_node"]) == 250
    small = build(heap, len(whole.core) * 3 // 4)
    facts, columns = unpack(small.core)
    kept = len(columns["site_node"]) - 1
    assert len(small.core) <= len(whole.core) * 3 // 4
    assert sum(columns["site_bytes_allocated"]) == heap.totals.bytes_allocated
    assert f"[{250 - kept} smaller sites]" in facts["strings"]
    assert any(f"The {250 - kept} sites" in text for text in unpack(small.history)[0]["thinned"])


def test_what_matters_by_any_measure_is_kept() -> None:
    rows = [{"id": n, "peak_bytes": n, "temporary": 0} for n in range(10)]
    rows[1]["temporary"] = 5
    assert find_weightiest(site_table(rows), 3).tolist() == [1, 8, 9]


def test_a_thinned_timeline_keeps_its_extremes() -> None:
    heap = told_heap()
    random = np.random.default_rng(5)
    live = random.integers(1000, 2000, 20_000)
    live[777], live[15_000] = 9999, 3
    heap.points = list(enumerate(live.tolist()))
    thin = thin_timeline(heap.timeline())
    assert len(thin) <= MOST_POINTS
    assert {9999, 3} <= set(thin.live_bytes.tolist())
    assert (thin.time_ns[0], thin.time_ns[-1]) == (0, 19_999)
    assert np.all(np.diff(thin.time_ns) > 0)
