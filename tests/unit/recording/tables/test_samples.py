"""Sites of sampled blocks: their marks come off, their units are converted, their errors add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heapglass.errors import RecordingError
from heapglass.model import LiveUnit, Mode
from heapglass.recording import open_recording, schema
from heapglass.recording.file.writer import Value, Writer, pack, put

if TYPE_CHECKING:
    from pathlib import Path

CODE = 0x401000
EXACT, SAMPLED, WIDE = 2, 3, 4  # sites: one stack, recorded exactly and at two intervals
MARK, WIDE_MARK = schema.PSEUDO_SAMPLED + 16, schema.PSEUDO_SAMPLED + 20
ONE = schema.BLOCK_FRACTION


def nodes(mark: int = MARK, mark_parent: int = 2) -> list[dict[str, Value]]:
    return [
        {},
        {"address": CODE, "parent": 0},
        {"address": CODE + 16, "parent": 1},
        {"address": mark, "parent": mark_parent},
        {"address": WIDE_MARK, "parent": 2},
        {"address": schema.PSEUDO_OTHER, "parent": 0},
    ]


def bucket_of(bucket: int, value: int) -> bytes:
    """A histogram with nothing but this."""
    values = [value if number == bucket else 0 for number in range(schema.BUCKETS)]
    return pack(schema.Histogram, {"bucket": tuple(values)})


def recording(path: Path, call_tree: list[dict[str, Value]] | None = None) -> Path:
    writer = Writer()
    tree = call_tree or nodes()
    sites: list[dict[str, Value]] = [{}, {"node": 5}, *({"node": node} for node in (2, 3, 4))]
    exact = {"allocations": 10, "frees": 4, "bytes_allocated": 1000, "bytes_freed": 400}
    sampled = {
        "allocations": 200 * ONE + ONE // 2,
        "frees": 100 * ONE,
        "bytes_allocated": 20000,
        "bytes_freed": 10000,
        "temporary": 70 * ONE,
        "realloc_away": 20 * ONE,
        "size_bucket": 8,
        "size_histogram": 1,
        "size_variances": 2,
        "lifetime_bucket": 1,
    }
    wide = {"allocations": 3 * ONE, "bytes_allocated": 300, "size_bucket": 8}
    counters: list[dict[str, Value]] = [{}, {}, dict(exact), dict(sampled), dict(wide)]
    samples: list[dict[str, Value]] = [
        {},
        {},
        {},
        {
            "allocated": 4,
            "freed": 2,
            "allocated_blocks_variance": (0, 2),
            "freed_blocks_variance": (0, 1),
            "allocated_bytes_variance": 500,
            "freed_bytes_variance": 100,
        },
        {"allocated": 1, "allocated_bytes_variance": 7},
    ]
    outcomes: list[dict[str, Value]] = [
        {},
        {},
        {},
        {"temporary_variance": (9 << 16, 0), "realloc_away_variance": (1 << 60, 0)},
        {},
    ]
    others = [bucket_of(9, value) for value in (50 * ONE, 1 << 62, 1)]
    writer.add_table(schema.KIND_HISTOGRAMS, [bytes(schema.Histogram.SIZE), *others])
    writer.add_table(schema.KIND_OUTCOMES, [pack(schema.Outcomes, line) for line in outcomes])
    writer.add_table(schema.KIND_NODES, [pack(schema.Node, node) for node in tree])
    writer.add_table(schema.KIND_SITES, [pack(schema.Site, site) for site in sites])
    writer.add_table(schema.KIND_COUNTERS, [pack(schema.Counters, line) for line in counters])
    writer.add_table(schema.KIND_SAMPLES, [pack(schema.Samples, line) for line in samples])
    change = {"time": 5, "sample_bytes": 1 << 16, "mode": schema.MODE_SAMPLED, "reason": 1}
    writer.add_table(schema.KIND_MODES, [pack(schema.ModeChange, change)])
    writer.header |= {
        "nodes": len(tree),
        "sites": len(sites),
        "histograms": 1 + len(others),
        "shards": 1,
        "mode_changes": 1,
        "flags": schema.FLAG_USABLE,
        "state": schema.STATE_EXITED,
        "mode": schema.MODE_SAMPLED,
        "sample_bytes": 1 << 16,
        "paused_ns": 7,
    }
    return writer.write(path)


def test_sites_of_one_stack_are_one(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        table = source.sites()
        assert table.id.tolist() == [EXACT]
        assert [frame.address for frame in source.stack(EXACT).frames] == [CODE + 16, CODE]
        assert source.stack(SAMPLED) == source.stack(EXACT) == source.stack(WIDE)


def test_estimates_are_in_blocks_and_bytes(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        table = source.sites()
        assert table.allocations[0] - 10 - 200 - 3 in (0, 1)  # half a block
        assert table.frees.tolist() == [4 + 100]
        assert table.live_bytes.tolist() == [600 + 10000 + 300]
        assert table.temporary.tolist() == [70]
        assert table.samples.tolist() == [5]
        assert table.sample_bytes.tolist() == [1 << 20]


def test_errors_are_roots_of_variances(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        table = source.sites()
        assert table.allocations_error[0] == pytest.approx((2 * 2.0**48) ** 0.5)
        assert table.live_blocks_error[0] == pytest.approx(2.0**24)
        assert table.temporary_error[0] == pytest.approx(3.0)
        narrow, wide = 2.0 ** (2 * 8), 2.0 ** (2 * 12)
        assert table.live_bytes_error[0] == pytest.approx((400 * narrow + 7 * wide) ** 0.5)


def test_histograms_stand_for_all_blocks(tmp_path: Path) -> None:
    """In 65,536ths there are 2^65 of variance in all, of which 2^64 + 2^62 are elsewhere; of what
    was freed 2^64, of which 2^60 were of reallocs."""
    with open_recording(recording(tmp_path / "x")) as source:
        sizes, lifetimes = source.size_histogram(), source.lifetime_histogram()
        assert sizes.counts[[7, 9]].tolist() == [154, 50]  # 150.5 and 3, to the even one
        assert lifetimes.counts[0] == 80
        assert sizes.errors is not None
        assert lifetimes.errors is not None
        own, others = (2**64 - 2**62) >> 16, (2**64 + 2**62) >> 16
        assert sizes.errors[[7, 9]] ** 2 == pytest.approx([own, others], rel=1e-6)
        assert lifetimes.errors[0] ** 2 == pytest.approx((2**64 - 2**60) >> 16, rel=1e-6)


def test_the_mode_is_told(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        recorder = source.recorder
        assert (recorder.mode, recorder.sample_bytes) == ("sampled", 1 << 16)
        assert [change.mode for change in recorder.changes] == [Mode.SAMPLED]
        assert recorder.paused_ns == 7
        assert source.totals.live_unit is LiveUnit.USABLE


@pytest.mark.parametrize(
    "tree",
    [
        nodes(mark=schema.PSEUDO_SAMPLED + schema.SAMPLE_SHIFT_MOST + 1),
        nodes(mark=schema.PSEUDO_SAMPLED + 1),
        nodes(mark_parent=0),
    ],
)
def test_odd_marks_are_refused(tmp_path: Path, tree: list[dict[str, Value]]) -> None:
    with (
        open_recording(recording(tmp_path / "x", tree)) as source,
        pytest.raises(RecordingError, match="odd interval"),
    ):
        source.sites()


@pytest.mark.parametrize("kind", [schema.KIND_SAMPLES, schema.KIND_OUTCOMES])
@pytest.mark.parametrize("first", [schema.MAX_SITES, 1 << 63])
def test_samples_of_sites_that_cannot_be_are_damage(tmp_path: Path, kind: int, first: int) -> None:
    path = recording(tmp_path / "x")
    image = bytearray(path.read_bytes())
    start = schema.PAGE + schema.Directory.SIZE
    while schema.Extent(image, start).kind != kind:
        start += schema.Extent.SIZE
    put(image, schema.Extent, "first", first, start)
    path.write_bytes(image)
    with open_recording(path) as source, pytest.raises(RecordingError, match="odd size or start"):
        source.sites()
