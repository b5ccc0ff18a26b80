"""Estimated numbers of blocks are whole, and add up to what they would without rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from heapglass.recording import open_recording, schema
from heapglass.recording.file.writer import Value, Writer, pack
from heapglass.recording.tables.rounding import Rounding
from recordings.slow_recorder import varint, zigzag

if TYPE_CHECKING:
    from pathlib import Path

ONE = schema.BLOCK_FRACTION
CODE = 0x401000
STACKS, SHARDS = 1000, 3
SHARE = 1406  # of each stack in each shard: 1.37 blocks
TRUTH = STACKS * SHARDS * SHARE / ONE

Records = list[dict[str, Value]]


def recording(path: Path) -> Path:
    """Each stack with one sample in each shard, and a snapshot of them all."""
    writer = Writer()
    stacks: Records = [{"address": CODE + number} for number in range(STACKS)]
    mark = schema.PSEUDO_SAMPLED + 16
    marks: Records = [{"address": mark, "parent": 1 + number} for number in range(STACKS)]
    sites: Records = [{"node": 1 + STACKS + number} for number in range(STACKS)]
    writer.add_table(schema.KIND_NODES, [pack(schema.Node, one) for one in ({}, *stacks, *marks)])
    writer.add_table(schema.KIND_SITES, [pack(schema.Site, one) for one in ({}, {}, *sites)])
    line: dict[str, Value] = {"allocations": SHARE, "bytes_allocated": 300}
    lines = [pack(schema.Counters, one) for one in ({}, {}, *[line] * STACKS)]
    samples = [pack(schema.Samples, one) for one in ({}, {}, *[{"allocated": 1}] * STACKS)]
    for shard in range(SHARDS):
        writer.add_table(schema.KIND_COUNTERS, lines, owner=shard)
        writer.add_table(schema.KIND_SAMPLES, samples, owner=shard)
    arena = snapshot()
    writer.add_extent(
        schema.KIND_SNAPSHOTS, bytes(pack(schema.Arena, {"used": len(arena)})) + arena
    )
    writer.header |= {
        "nodes": 1 + 2 * STACKS,
        "sites": 2 + STACKS,
        "shards": SHARDS,
        "flags": schema.FLAG_USABLE,
        "state": schema.STATE_EXITED,
    }
    return writer.write(path)


def snapshot() -> bytes:
    changes = b"".join(zigzag(SHARDS * one) for one in (SHARE, 300, SHARE, 300))
    deltas = varint(2) + changes + (varint(1) + changes) * (STACKS - 1)
    head = pack(schema.Snapshot, {"time": 1, "sites": STACKS, "length": len(deltas)})
    return bytes(head) + deltas + bytes(-len(deltas) % 8)


def test_sums_over_sites_are_right(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        table = source.sites()
        assert len(table) == STACKS
        assert table.allocations.sum() == pytest.approx(TRUTH, abs=10)
        assert (np.abs(table.allocations - SHARDS * SHARE / ONE) < 1).all()
        # Neither is any part of them far off.
        assert table.allocations[::4].sum() == pytest.approx(TRUTH / 4, abs=10)
        assert table.live_blocks.tolist() == table.allocations.tolist()


def test_sums_over_threads_are_right(tmp_path: Path) -> None:
    with open_recording(recording(tmp_path / "x")) as source:
        tables = source.sites_by_shard().values()
        for table in tables:
            assert table.allocations.sum() == pytest.approx(TRUTH / SHARDS, abs=10)
        assert len({tuple(table.allocations.tolist()) for table in tables}) == SHARDS


def test_many_threads_at_one_site_add_up() -> None:
    site, share = np.array([7]), np.array([SHARE])
    blocks = sum(int(Rounding(3, shard).to_blocks(share, site)[0]) for shard in range(400))
    assert blocks == pytest.approx(400 * SHARE / ONE, abs=5)


def test_a_snapshot_has_the_numbers_of_the_end(tmp_path: Path) -> None:
    """Nothing happened since, and so nothing must seem to."""
    with open_recording(recording(tmp_path / "x")) as source:
        table, (then,) = source.sites(), source.snapshots()
        assert then.site.tolist() == table.id.tolist()
        assert then.allocations.tolist() == table.allocations.tolist()
        assert then.live_blocks.tolist() == table.live_blocks.tolist()
        assert then.bytes_allocated.tolist() == table.bytes_allocated.tolist()


@pytest.mark.parametrize("start_ns", [0, 1_800_000_000_123_456_789, (1 << 64) - 1])
def test_what_is_whole_stays_and_what_is_more_stays_more(start_ns: int) -> None:
    site = np.arange(1, 1 + schema.MAX_SITES, 997)
    rounding = Rounding(start_ns)
    for blocks in (-3, 0, 1, 1 << 40):
        assert (rounding.to_blocks(np.full(len(site), blocks * ONE), site) == blocks).all()
    less, more = np.full(len(site), 5 * ONE + 300), np.full(len(site), 5 * ONE + 301)
    assert (rounding.to_blocks(less, site) <= rounding.to_blocks(more, site)).all()


def test_over_many_recordings_no_site_is_off() -> None:
    site, share = np.array([7]), np.array([SHARE])
    starts = range(10**18, 10**18 + 10**12, 10**9 + 7_654_321)
    blocks = [int(Rounding(start).to_blocks(share, site)[0]) for start in starts]
    assert sum(blocks) / len(blocks) == pytest.approx(SHARE / ONE, abs=0.05)
