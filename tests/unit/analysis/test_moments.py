from __future__ import annotations

import re

import pytest

from heapglass.analysis.moments import Moment, MomentKind, at_moment, parse_moment
from heapglass.analysis.narrowed import absent_counters
from heapglass.analysis.threads import ThreadHeap
from heapglass.analysis.windows import WindowHeap
from heapglass.errors import UsageError
from heapglass.model import Mark, ProcessState
from unit.fake_source import FakeBlocks, FakeSite, FakeSource, estimated, frame, snapshot

_S = 10**9
FIRST = FakeSite(
    (frame("first"),),
    allocations=10,
    frees=4,
    bytes_allocated=1000,
    bytes_freed=400,
    peak_blocks=8,
    peak_bytes=800,
    temporary=2,
)
SECOND = FakeSite((frame("second"),), allocations=5, bytes_allocated=50, shard=1)
END = Moment(MomentKind.END)
PEAK = Moment(MomentKind.PEAK)


def heap() -> FakeSource:
    """It ends at 3.4 s."""
    history = [
        snapshot(1 * _S, [(2, 3, 300, 4, 400)]),
        snapshot(2 * _S, [(2, 8, 800, 9, 900), (3, 2, 20, 2, 20)]),
    ]
    names = (("app", 0), ("worker", 1), ("worker", 1))
    return FakeSource((FIRST, SECOND), thread_names=names, history=history)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90s", Moment(MomentKind.TIME, 90 * _S)),
        ("00:01:30", Moment(MomentKind.TIME, 90 * _S)),
        ("1:30.5", Moment(MomentKind.TIME, 90_500_000_000)),
        ("2", Moment(MomentKind.TIME, 2 * _S)),
        (".5ms", Moment(MomentKind.TIME, 500_000)),
        ("start", Moment(MomentKind.TIME, 0)),
        ("peak", PEAK),
        ("end", END),
    ],
)
def test_moments_as_they_are_written(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize("text", ["soon", "-1s", "1:2:3:4", "5 parsecs"])
def test_anything_else_may_be_a_mark(text: str) -> None:
    assert parse_moment(text) == Moment(MomentKind.MARK, name=text)
    with pytest.raises(UsageError, match=rf"'{text}' is not a moment: .* app.hg has none"):
        at_moment(heap(), parse_moment(text))


def test_nothing_is_no_moment() -> None:
    with pytest.raises(ValueError, match="is not a moment"):
        parse_moment("")


MARKS = (Mark(_S, "loaded"), Mark(_S + 1, "served"), Mark(2 * _S, "loaded"), Mark(3 * _S, "done"))


@pytest.mark.parametrize(
    ("name", "time_ns", "words"),
    [
        ("loaded", _S, "the mark 'loaded' at 1.0 s, the first of 2 of this name"),
        ("served", 2 * _S, "the first snapshot since the mark 'served' at 1.0 s"),
        ("done", 3_400_000_000, "at the end, after 3.4 s: no snapshot is later than the mark"),
    ],
)
def test_a_mark_is_the_first_snapshot_since(name: str, time_ns: int, words: str) -> None:
    whole = heap()
    whole.named_moments = MARKS
    then = at_moment(whole, parse_moment(name))
    assert then.process.duration_ns == time_ns
    assert words in then.notes[0]
    assert all(mark.time_ns <= time_ns for mark in then.marks())


def test_marks_are_moments_of_windows() -> None:
    whole = heap()
    whole.named_moments = MARKS
    window = WindowHeap(whole, parse_moment("loaded"), parse_moment("served"))
    assert window.sites().live_bytes.tolist() == [500, 20]
    assert [mark.name for mark in window.marks()] == ["loaded", "served", "loaded"]
    with pytest.raises(UsageError, match=r"app.hg has loaded, served, done$"):
        at_moment(whole, parse_moment("load"))


def test_the_end_is_the_heap_itself() -> None:
    source = heap()
    assert at_moment(source, END) is source


def test_a_moment_is_the_nearest_snapshot() -> None:
    then = at_moment(heap(), Moment(MomentKind.TIME, 1_900_000_000))
    table = then.sites()
    assert table.id.tolist() == [2, 3]
    assert table.live_bytes.tolist() == [800, 20]
    assert table.frees.tolist() == [1, 0]
    assert table.bytes_freed.tolist() == [100, 0]
    assert then.process.state is ProcessState.RUNNING
    assert then.process.duration_ns == 2 * _S
    assert then.totals.live_bytes == 820
    assert then.notes == ("As it was after 2.0 s: no snapshot is nearer to 1.9 s.",)
    assert {"temporary", "peak_bytes"} <= absent_counters(then)
    with pytest.raises(UsageError, match="threads apart"):
        then.sites_by_shard()


def test_estimates_of_a_moment_have_errors() -> None:
    source = heap()
    source.history = [estimated(one) for one in source.history]
    table = at_moment(source, Moment(MomentKind.TIME, 2 * _S)).sites()
    assert table.live_bytes_error.tolist() == [80, 2]
    assert table.allocations_error.tolist() == pytest.approx([0.9, 0.2])
    assert table.frees_error.tolist() == pytest.approx([0.9 * (1 / 9) ** 0.5, 0])


def test_sites_that_a_snapshot_does_not_know_are_not_there_yet() -> None:
    then = at_moment(heap(), Moment(MomentKind.TIME, _S))
    assert then.sites().id.tolist() == [2]
    assert then.notes == ("As it was after 1.0 s.",)
    assert len(at_moment(heap(), Moment(MomentKind.TIME, 0)).sites()) == 0


def test_the_end_may_be_the_nearest() -> None:
    then = at_moment(heap(), Moment(MomentKind.TIME, 3 * _S))
    assert then.totals == heap().totals
    assert "at the end, after 3.4 s" in then.notes[0]
    with pytest.raises(UsageError, match="ends after"):
        at_moment(heap(), Moment(MomentKind.TIME, 60 * _S))


def test_the_peak_knows_what_was_live() -> None:
    then = at_moment(heap(), PEAK)
    assert then.sites().id.tolist() == [2]
    assert then.sites().live_bytes.tolist() == [800]
    assert then.totals.live_bytes == heap().totals.peak_bytes
    assert "allocations" in absent_counters(then)
    assert then.sites_by_shard()[0].live_blocks.tolist() == [8]


def test_a_window_is_a_difference() -> None:
    window = WindowHeap(heap(), Moment(MomentKind.TIME, _S), Moment(MomentKind.TIME, 2 * _S))
    table = window.sites()
    assert table.allocations.tolist() == [5, 2]
    assert table.live_bytes.tolist() == [500, 20]
    to_the_end = WindowHeap(heap(), Moment(MomentKind.TIME, 2 * _S), END).sites()
    assert to_the_end.live_bytes.tolist() == [-200, 30]
    assert to_the_end.frees.tolist() == [3, 0]
    whole = WindowHeap(heap(), Moment(MomentKind.TIME, 0), END).sites()
    assert whole.live_bytes.tolist() == heap().sites().live_bytes.tolist()


def test_a_window_that_ends_before_it_begins() -> None:
    with pytest.raises(UsageError, match="before"):
        WindowHeap(heap(), Moment(MomentKind.TIME, 2 * _S), Moment(MomentKind.TIME, _S))


def test_all_of_a_window_is_of_the_snapshots_that_were_found() -> None:
    source = heap()
    source.live = [FakeBlocks(2, 100, (_S // 2, _S, 2 * _S, 3 * _S))]
    source.points = [(tenth * _S // 10, 0) for tenth in range(34)]
    source.named_moments = (Mark(_S - 1, "before"), Mark(_S, "in"), Mark(2 * _S + 1, "after"))
    window = WindowHeap(source, _time(600), _time(2400))
    assert window.notes[0].startswith("Between 1.0 s and 2.0 s, where the snapshots are")
    assert window.process.duration_ns == 2 * _S
    assert window.blocks().birth_ns.tolist() == [_S, 2 * _S]
    assert window.timeline().time_ns[[0, -1]].tolist() == [_S, 2 * _S]
    assert [one.time_ns for one in window.snapshots()] == [_S, 2 * _S]
    assert [mark.name for mark in window.marks()] == ["in"]
    # The snapshot that ends a window may be later than what was asked for.
    from_start = WindowHeap(source, _time(0), _time(1900))
    assert [one.time_ns for one in from_start.snapshots()] == [_S, 2 * _S]


@pytest.mark.parametrize(("since", "until"), [(2100, 2400), (0, 300), (3000, 3400), (1600, 2200)])
def test_moments_that_no_snapshots_tell_apart_are_no_window(since: int, until: int) -> None:
    with pytest.raises(UsageError, match=r"no two snapshots tell .* apart: choose moments"):
        WindowHeap(heap(), _time(since), _time(until))


def test_nor_is_one_whose_mark_is_found_after_its_end() -> None:
    source = heap()
    source.named_moments = (Mark(_S + _S // 10, "late"),)
    with pytest.raises(UsageError, match=r"tell 1.1 s and 1.3 s apart"):
        WindowHeap(source, parse_moment("late"), _time(1300))


def _time(ms: int) -> Moment:
    return Moment(MomentKind.TIME, ms * 10**6)


def test_threads_are_their_shards() -> None:
    heap_of = ThreadHeap(heap(), re.compile("worker"))
    assert heap_of.sites().id.tolist() == [3]
    assert heap_of.totals.allocations == 5
    assert heap_of.notes[0].startswith("Only what 2 of 3 threads did")
    assert len(heap_of.notes) == 1
    by_id = ThreadHeap(heap(), re.compile("4243"))
    assert by_id.notes[1] == "Counted with them, as one followed the other: worker."
    with pytest.raises(UsageError, match="no thread is called 'x'"):
        ThreadHeap(heap(), re.compile("x"))
    both = ThreadHeap(heap(), re.compile(""))
    assert both.sites().allocations.tolist() == heap().sites().allocations.tolist()
    assert at_moment(both, PEAK).sites().live_bytes.tolist() == [800]
