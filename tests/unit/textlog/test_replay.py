"""Logs of made-up runs against what brute force says of the same runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heapglass.textlog.events import events_of
from heapglass.textlog.log import replay_log
from heapglass.textlog.parser import Parser
from heapglass.textlog.sequence import Sequencer
from recordings.made_log import PID, MadeLog

if TYPE_CHECKING:
    from heapglass.model import HeapSource
    from heapglass.textlog.heap import LogHeap
    from recordings.oracle import Oracle, Stack

COLUMNS = (
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "live_blocks",
    "live_bytes",
    "peak_blocks",
    "peak_bytes",
    "temporary",
    "largest",
    "smallest",
    "realloc_in_place",
    "realloc_moved",
)


def stack_of(heap: HeapSource, site: int) -> Stack:
    stack = heap.stack(site)
    return tuple((frame.address, frame.module) for frame in stack.frames), 0


def site_rows(heap: HeapSource) -> dict[Stack, dict[str, int]]:
    table = heap.sites()
    return {
        stack_of(heap, int(site)): {name: int(getattr(table, name)[row]) for name in COLUMNS}
        for row, site in enumerate(table.id)
    }


def expected_rows(oracle: Oracle, threads: set[int] | None = None) -> dict[Stack, dict[str, int]]:
    return {
        stack: {name: row.get(name, 0) for name in COLUMNS}
        for stack, row in oracle.sites(threads).items()
    }


def pieces(text: bytes, size: int) -> list[bytes]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def only_heap(made: MadeLog, size: int = 1 << 20) -> LogHeap:
    log = replay_log("made", pieces(made.text(), size))
    assert (log.problems.count, log.unclosed, log.is_cut) == (0, 0, False)
    (heap,) = log.heaps
    return heap


@pytest.mark.parametrize("seed", range(12))
def test_sites_are_as_brute_force_has_them(seed: int) -> None:
    made = MadeLog(seed).run(600)
    heap = only_heap(made)
    assert site_rows(heap) == expected_rows(made.oracle)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_small_batches_give_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was live before a batch, freed before it, allocated last before it, plays its part."""
    monkeypatch.setattr("heapglass.textlog.replay.batch_of", lambda _live: 3)
    made = MadeLog(seed).run(400)
    heap = only_heap(made, size=100)
    assert site_rows(heap) == expected_rows(made.oracle)
    assert heap.replay.faults.double_frees == made.double_frees
    assert heap.lifetime_histogram().counts.tolist() == made.oracle.lifetimes()


@pytest.mark.parametrize("seed", range(6))
def test_totals_and_faults(seed: int) -> None:
    made = MadeLog(seed).run(500)
    heap = only_heap(made)
    totals, oracle = heap.totals, made.oracle
    live = oracle.live.values()
    assert totals.live_blocks == len(live)
    assert totals.live_bytes == sum(block.size for block in live)
    assert (totals.peak_bytes, totals.peak_time_ns) == (oracle.peak, oracle.peak_ns)
    assert totals.allocations == sum(event.sign > 0 for event in oracle.events)
    assert totals.reallocs == sum(event.sign > 0 and event.is_resize for event in oracle.events)
    faults = heap.replay.faults
    assert faults.double_frees == made.double_frees > 0
    assert faults.unknown_frees == made.unknown_frees > 0
    assert faults.failed == made.failed > 0
    assert (faults.missed_frees, faults.vague_moves, heap.replay.late) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_live_blocks_with_their_births(seed: int) -> None:
    made = MadeLog(seed).run(500)
    blocks = only_heap(made).blocks()
    expected = sorted((a, b.size, b.birth_ns) for a, b in made.oracle.live.items())
    found = zip(
        blocks.address.tolist(), blocks.size.tolist(), blocks.birth_ns.tolist(), strict=True
    )
    assert list(found) == expected


@pytest.mark.parametrize("seed", range(4))
def test_histograms(seed: int) -> None:
    made = MadeLog(seed).run(500)
    heap = only_heap(made)
    assert heap.size_histogram().counts.tolist() == made.oracle.sizes()
    assert heap.lifetime_histogram().counts.tolist() == made.oracle.lifetimes()
    for site in heap.sites().id.tolist():
        stack = stack_of(heap, site)
        assert heap.size_histogram(site).counts.tolist() == made.oracle.sizes(stack)
        assert heap.lifetime_histogram(site).counts.tolist() == made.oracle.lifetimes(stack)


def test_threads_have_their_shares() -> None:
    made = MadeLog(3, threads=5).run(600)
    heap = only_heap(made)
    for thread in heap.threads:
        events = made.oracle.of({thread.tid - PID})
        assert thread.allocations == sum(event.sign > 0 for event in events)
        assert thread.frees == sum(event.sign < 0 for event in events)
        assert thread.bytes_allocated == sum(e.size for e in events if e.sign > 0)
        assert thread.temporary == sum(event.is_temporary for event in events)
    assert {thread.tid - PID for thread in heap.threads} == set(range(5))


def test_the_timeline_ends_where_the_log_does() -> None:
    made = MadeLog(4).run(500)
    heap = only_heap(made)
    timeline, totals = heap.timeline(), heap.totals
    assert len(timeline) > 20
    assert timeline.live_bytes[-1] == totals.live_bytes
    assert timeline.allocations[-1] == totals.allocations
    assert timeline.bytes_allocated[-1] == totals.bytes_allocated
    assert timeline.live_blocks[-1] == totals.live_blocks
    assert timeline.peak_bytes[-1] == totals.peak_bytes
    assert sorted(set(timeline.time_ns.tolist())) == timeline.time_ns.tolist()


def test_events_beyond_the_window_are_counted() -> None:
    old = b"+ malloc 8 0x10 1 2 1\n-\n"
    young = b"".join(b"+ malloc 8 0x%x 1 1 %d\n-\n" % (n * 16 + 64, n) for n in range(2, 60))
    sequencer = Sequencer(window=10, step=10)
    parser = Parser()
    keys = []
    for text in (young, old + b"+ FINI\n-\n"):
        for entries in [*parser.feed(text), *parser.finish()]:
            for events in sequencer.push(events_of(entries, sequencer.last_key)):
                keys += events.key.tolist()
    for events in sequencer.finish():
        keys += events.key.tolist()
    assert sorted(keys) == list(range(1, 60))
    assert sequencer.late == 1
