"""Single rules of the format, each in the smallest recording that shows it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.errors import RecordingError
from heapglass.model import FrameAddress, LossKind, Pseudo, Stack
from heapglass.recording import open_recording, schema
from heapglass.recording.file.writer import Writer, pack
from heapglass.recording.tables.ledger import birth_ns, latest_birth_ns
from recordings.oracle import At
from recordings.slow_recorder import SlowRecorder, birth_code, ticks_of

if TYPE_CHECKING:
    from pathlib import Path

    from heapglass.model import HeapSource
    from heapglass.recording.reader import Recording

_CODE = 0x400000


def _open(writer: Writer, directory: Path) -> Recording:
    return open_recording(writer.write(directory / "x.heapglass"))


@pytest.fixture
def recorder() -> SlowRecorder:
    """One thread, and a site (2) of one frame."""
    recorder = SlowRecorder()
    recorder.thread(77, b"main", 0)
    recorder.site([_CODE], 0, 0)
    return recorder


# ---- the process --------------------------------------------------------------------------------


def test_process(tmp_path: Path, recorder: SlowRecorder) -> None:
    writer = recorder.writer(
        pid=4711,
        parent_pid=47,
        uid=1000,
        executable=b"/usr/bin/app",
        working_directory=b"/tmp/\xff",
        command_line=b"app\0\0last",
        command_line_length=9,
        exit_status=3,
        exit_signal=9,
        start_wall_ns=10**18,
        end_ns=5,
        flags=schema.FLAG_FORKED,
        session=99,
    )
    source: HeapSource = _open(writer, tmp_path)
    process = source.process
    assert (process.pid, process.parent_pid, process.uid) == (4711, 47, 1000)
    assert process.executable == "/usr/bin/app"
    assert process.argv == ("app", "", "last")
    assert os.fsencode(process.working_directory) == b"/tmp/\xff"
    assert (process.state, process.exit_status, process.exit_signal) == ("exited", 3, None)
    assert (process.started_wall_ns, process.duration_ns) == (10**18, 5)
    assert process.is_forked
    assert process.session == 99
    assert source.name == str(tmp_path / "x.heapglass")


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        (b"", ()),
        (b"app\0", ("app",)),
        (b"app\0\0", ("app", "")),
        (b"app\0cut he", ("app", "cut he")),
        (b"app\0\0\0", ("app", "", "")),
        (b"app: a title\0\0\0\0", ("app: a title",)),
        (b"my app\0\0\0x\0", ("my app", "", "", "x")),
    ],
)
def test_arguments(
    tmp_path: Path, recorder: SlowRecorder, line: bytes, argv: tuple[str, ...]
) -> None:
    writer = recorder.writer(command_line=line, command_line_length=len(line))
    assert _open(writer, tmp_path).process.argv == argv


def test_ended_by_a_signal(tmp_path: Path, recorder: SlowRecorder) -> None:
    writer = recorder.writer(state=schema.STATE_SIGNALED, exit_status=3, exit_signal=11)
    process = _open(writer, tmp_path).process
    assert (process.state, process.exit_status, process.exit_signal) == ("signaled", None, 11)


def test_duration_without_an_end_is_that_of_the_last_event(
    tmp_path: Path, recorder: SlowRecorder
) -> None:
    recorder.threads[0].record["last_seen"] = 500
    assert _open(recorder.writer(), tmp_path).process.duration_ns == 500
    recorder.tick(800)
    assert _open(recorder.writer(), tmp_path).process.duration_ns == 800


def test_losses(tmp_path: Path, recorder: SlowRecorder) -> None:
    recorder.header_losses[4] = 2
    recorder.threads[0].record["losses"] = [0, 5, 0, 0, 1] + [0] * 11
    writer = recorder.writer(ladder=1, ladder_reason=1, ladder_ns=44, peak_error_bytes=12)
    losses = _open(writer, tmp_path).losses
    assert {loss.kind: loss.events for loss in losses.items} == {
        LossKind.LEDGER_FULL: 5,
        LossKind.EARLY: 3,
    }
    assert (losses.ladder, losses.reason, losses.since_ns) == ("dropping", "disk_full", 44)
    assert losses.peak_error_bytes == 12


def test_modules_beyond_the_last_that_is_kept(tmp_path: Path, recorder: SlowRecorder) -> None:
    recorder.load(0x1000, 0x2000, b"/one.so")
    assert _open(recorder.writer(), tmp_path).losses.dropped_modules == 0
    recording = _open(recorder.writer(modules=schema.MODULES + 7), tmp_path)
    assert recording.losses.dropped_modules == 7
    assert [module.path for module in recording.modules] == ["/one.so"]


def test_recorder(tmp_path: Path, recorder: SlowRecorder) -> None:
    recorder.threads[0].record["stats"] = [10, 20, 30, 40, 50, 60, 70, 80]
    recorder.thread(78, b"b", 0)
    recorder.threads[1].record["stats"] = [1] * 8
    recorder.threads[1].record["more_stats"] = [2, 3, 4, 5, 0, 0, 0, 0]
    writer = recorder.writer(
        sample_bytes=0,
        depth_limit=64,
        file_reserved_bytes=1000,
        private_bytes=10,
        allocator=b"libc",
    )
    found = _open(writer, tmp_path).recorder
    assert (found.mode, found.depth_limit, found.granule_bytes) == ("exact", 64, 32)
    assert (found.memory_bytes, found.file_bytes, found.private_bytes) == (1010, 1000, 10)
    assert found.allocator == "libc"
    assert list(found.stats) == list(schema.STATS)
    assert (
        list(found.stats.values())
        == [11, 21, 31, 41, 51, 61, 71, 81, 2, 3, 4, 5][: schema.STAT_COUNT]
    )


def test_live_beyond_the_noted_peak(tmp_path: Path, recorder: SlowRecorder) -> None:
    recorder.allocate(At(0, 0), 0x1000, 100, 2)
    assert _open(recorder.writer(peak_bytes=60), tmp_path).totals.peak_bytes == 100


# ---- stacks and modules -------------------------------------------------------------------------


def test_the_site_of_all_other_stacks(tmp_path: Path, recorder: SlowRecorder) -> None:
    assert _open(recorder.writer(), tmp_path).stack(1) == Stack((), Pseudo.OTHER)


@pytest.mark.parametrize("site", [0, 3, -1, 1 << 40])
def test_no_such_site(tmp_path: Path, recorder: SlowRecorder, site: int) -> None:
    recording = _open(recorder.writer(), tmp_path)
    for ask in (recording.stack, recording.size_histogram, recording.lifetime_histogram):
        with pytest.raises(RecordingError, match=f"has no site {site}$"):
            ask(site)


def test_generations_of_a_module(tmp_path: Path) -> None:
    """The same address is another frame after the object there was replaced."""
    recorder = SlowRecorder()
    old = recorder.load(0x1000, 0x2000, b"/old.so")
    recorder.site([0x1800], 0, 0)
    recorder.unload(old)
    recorder.site([0x1800, 0x5000], 0, 0)
    recorder.load(0x1000, 0x3000, b"/new.so")
    recorder.site([0x1800], 0, 0)
    recorder.site([0x2800], 0, 0)
    recorder.site([0x3000], 0, 0)
    recording = _open(recorder.writer(), tmp_path)
    frames = [recording.stack(site).frames[0] for site in range(2, 7)]
    assert frames == [
        FrameAddress(0x1800, 0),
        FrameAddress(0x1800, -1),
        FrameAddress(0x1800, 1),
        FrameAddress(0x2800, 1),
        FrameAddress(0x3000, -1),
    ]
    assert [module.path for module in recording.modules] == ["/old.so", "/new.so"]


def test_module(tmp_path: Path) -> None:
    recorder = SlowRecorder()
    recorder.load(
        0x1000, 0x2000, b"/bin/\xfe", bias=0x800, build_id=bytes.fromhex("c0ffee"),
        build_id_length=3, file_size=5, file_mtime_ns=6, flags=schema.MODULE_MAIN,
    )  # fmt: skip
    recorder.load(0x3000, 0x4000, b"", flags=schema.MODULE_VDSO)
    first, second = _open(recorder.writer(), tmp_path).modules
    assert os.fsencode(first.path) == b"/bin/\xfe"
    assert (first.start, first.end, first.bias, first.build_id) == (0x1000, 0x2000, 0x800, "c0ffee")
    assert (first.file_size, first.file_mtime_ns) == (5, 6)
    assert (first.is_main, first.is_vdso, first.index) == (True, False, 0)
    assert (second.path, second.is_main, second.is_vdso, second.index) == ("", False, True, 1)


def test_a_module_that_is_not_visible_keeps_the_positions(tmp_path: Path) -> None:
    recorder = SlowRecorder()
    for number in range(4):
        recorder.load(0x1000 * (number + 1), 0x1000 * (number + 2), b"/lib%d" % number)
    recorder.modules[1]["start"] = recorder.modules[3]["start"] = 0
    recorder.site([0x3004], 0, 0)
    recording = _open(recorder.writer(), tmp_path)
    assert [module.path for module in recording.modules] == ["/lib0", "", "/lib2"]
    assert recording.modules[recording.stack(2).frames[0].module].path == "/lib2"


def test_equal_stacks_are_one_site(tmp_path: Path, recorder: SlowRecorder) -> None:
    again = recorder.site([_CODE], 0, 5, is_race=True)
    above, below = recorder.site([1 << 20, _CODE], 0, 6), recorder.site([2 << 20, _CODE], 0, 7)
    above_again = recorder.site([1 << 20, _CODE], 0, 8, is_race=True)
    for number, site in enumerate((2, again, above, below, above_again)):
        recorder.allocate(At(0, 0), 0x1000 * (number + 1), 10**number, site)
    recording = _open(recorder.writer(), tmp_path)
    table = recording.sites()
    assert table.id.tolist() == [2, above, below]
    assert table.live_bytes.tolist() == [11, 10100, 1000]
    assert table.first_seen_ns.tolist() == [0, 6, 7]
    assert (table.largest.tolist(), table.smallest.tolist()) == ([10, 10000, 1000], [1, 100, 1000])
    assert recording.blocks().site.tolist() == [2, 2, above, below, above]
    assert recording.stack(again) == recording.stack(2)
    histograms = [recording.size_histogram(site).counts.tolist() for site in (2, again)]
    assert histograms[0] == histograms[1]
    assert sum(histograms[0]) == 2


def test_a_stack_cut_is_not_a_whole_one(tmp_path: Path, recorder: SlowRecorder) -> None:
    recorder.site([_CODE], schema.PSEUDO_BOUNDS, 0)
    recording = _open(recorder.writer(), tmp_path)
    frames = (FrameAddress(_CODE, -1),)
    assert recording.stack(2) == Stack(frames)
    assert recording.stack(3) == Stack(frames, Pseudo.BOUNDS)


def test_many_sites(tmp_path: Path) -> None:
    """Over several extents of every table."""
    recorder = SlowRecorder()
    recorder.thread(1, b"t", 0)
    for number in range(9000):
        site = recorder.site([0x10000 + number], 0, number)
        recorder.allocate(At(0, number), 0x1000000 + 32 * number, number, site)
    recording = _open(recorder.writer(), tmp_path)
    table = recording.sites()
    assert table.id.tolist() == list(range(2, 9002))
    assert table.live_bytes.tolist() == list(range(9000))
    assert table.first_seen_ns.tolist() == list(range(9000))
    assert [recording.stack(n + 2).frames[0].address - 0x10000 for n in range(9000)] == list(
        range(9000)
    )


# ---- counters -----------------------------------------------------------------------------------


def test_a_line_without_room_for_its_histogram(tmp_path: Path, recorder: SlowRecorder) -> None:
    """Its values are all taken for those of its bucket; the losses say so."""
    for number in range(3):
        recorder.allocate(At(0, 0), 0x1000 * (number + 1), 1 << number, 2)
    recorder.lines[0, 2]["size_histogram"] = 0
    assert _open(recorder.writer(), tmp_path).size_histogram().counts[:4].tolist() == [0, 3, 0, 0]


def test_a_value_in_its_histogram_before_it_is_in_its_line(
    tmp_path: Path, recorder: SlowRecorder
) -> None:
    recorder.allocate(At(0, 0), 0x1000, 1, 2)
    recorder.lines[0, 2]["size_histogram"] = len(recorder.histograms)
    recorder.histograms.append([0, 0, 2] + [0] * 45)
    assert _open(recorder.writer(), tmp_path).size_histogram().counts[:4].tolist() == [0, 0, 2, 0]


def test_transient_negatives_are_clamped(tmp_path: Path, recorder: SlowRecorder) -> None:
    """A free that was seen, of an allocation that was not yet."""
    line = recorder._line(0, 2)
    line["frees"], line["bytes_freed"] = 1, 64
    recording = _open(recorder.writer(), tmp_path)
    table = recording.sites()
    assert (table.live_blocks.tolist(), table.live_bytes.tolist()) == ([0], [0])
    assert (table.largest.tolist(), table.smallest.tolist()) == ([-1], [-1])
    shard = recording.sites_by_shard()[0]
    assert (shard.live_blocks.tolist(), shard.live_bytes.tolist()) == ([-1], [-64])


# ---- blocks -------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, (1 << 56) - 1), min_size=1))
def test_births_are_at_most_a_millionth_off(times_ns: list[int]) -> None:
    codes = np.array([birth_code(time) for time in times_ns], np.int64)
    assert codes.max() < 1 << schema.LEDGER_BIRTH_BITS
    for time, found in zip(times_ns, birth_ns(codes).tolist(), strict=True):
        assert found <= time
        assert time - found < (1 << 20) + time / 10**6
    assert np.all(np.array(times_ns) < latest_birth_ns(birth_ns(codes)))


def test_births_of_all_magnitudes_agree_with_the_c_rule() -> None:
    codes = np.arange(0, 1 << schema.LEDGER_BIRTH_BITS, 4099)
    expected = [ticks_of(code) << schema.TICK_SHIFT for code in codes.tolist()]
    assert birth_ns(codes).tolist() == expected


def test_a_block_that_moves_between_the_tables_is_there_once(
    tmp_path: Path, recorder: SlowRecorder
) -> None:
    recorder.allocate(At(0, 3 << 20), 0x1000, 100, 2)
    writer = recorder.writer()
    grown = {"address": 0x1000, "size": 70000, "site": 2, "birth": 4}
    writer.add_extent(schema.KIND_LARGE, pack(schema.Large, grown), first=1, length=schema.STEP)
    blocks = _open(writer, tmp_path).blocks()
    assert (blocks.address.tolist(), blocks.size.tolist()) == ([0x1000], [70000])


def test_no_blocks(tmp_path: Path, recorder: SlowRecorder) -> None:
    recording = _open(recorder.writer(), tmp_path)
    assert len(recording.blocks()) == len(recording.sites()) == len(recording.timeline()) == 0
    assert recording.sites_by_shard() == {}
    assert list(recording.snapshots()) == []
    assert recording.size_histogram().total == 0


@pytest.mark.parametrize("shift", [3, 4, 5])
def test_granules(tmp_path: Path, shift: int) -> None:
    recorder = SlowRecorder(granule_shift=shift)
    recorder.thread(1, b"t", 0)
    addresses = [0x7F0000000000 + (n << shift) for n in (0, 1, 32767, 32768, 99999)]
    for address in addresses:
        recorder.allocate(At(0, 0), address, 8, 1)
    assert _open(recorder.writer(), tmp_path).blocks().address.tolist() == addresses


# ---- time ---------------------------------------------------------------------------------------


def test_points_in_the_wrong_order_by_a_moment(tmp_path: Path, recorder: SlowRecorder) -> None:
    for time in (5, 9, 8, 12):
        recorder.tick(time)
        recorder.snapshot(time)
    recording = _open(recorder.writer(), tmp_path)
    assert recording.timeline().time_ns.tolist() == [5, 9, 9, 12]
    assert [snapshot.time_ns for snapshot in recording.snapshots()] == [5, 9, 9, 12]


def test_large_changes_in_snapshots(tmp_path: Path, recorder: SlowRecorder) -> None:
    line = recorder._line(0, 2)
    for value in (1 << 62, 0, (1 << 63) - 1):
        line["bytes_allocated"] = line["allocations"] = value
        recorder.snapshot(0)
    found = [s.live_bytes.tolist() for s in _open(recorder.writer(), tmp_path).snapshots()]
    assert found == [[1 << 62], [0], [(1 << 63) - 1]]


def test_snapshots_are_clamped(tmp_path: Path, recorder: SlowRecorder) -> None:
    """A snapshot, too, may meet a free before the allocation."""
    recorder._line(0, 2)["bytes_freed"] = 5
    recorder.snapshot(0)
    (snapshot,) = _open(recorder.writer(), tmp_path).snapshots()
    assert (snapshot.site.tolist(), snapshot.live_bytes.tolist()) == ([2], [0])
