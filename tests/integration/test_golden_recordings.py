"""Recordings of every version of the format are read as they always were.

tests/golden/format-N has recordings of version N and, beside each, all that is read from it. To
make those of the current version anew: HEAPGLASS_REFRESH_GOLDEN=1 pytest
tests/integration/test_golden_recordings.py, then read the diff. A refreshed run fails, so that it
cannot pass for a check. Recordings of older versions are never made again. Version 6 is open: its
recordings are made anew until all that it has room for is filled (docs/format.md).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from harness.consistency import contradictions
from harness.golden import as_text, contents, record, unpacked
from harness.programs import TESTS
from heapglass.model import LossKind
from heapglass.recording import open_recording
from heapglass.recording.schema import FORMAT_VERSION

GOLDEN = TESTS / "golden"
CURRENT = GOLDEN / f"format-{FORMAT_VERSION}"
RECORDINGS = sorted(GOLDEN.glob("format-*/*.heapglass.gz"))
IDS = [f"{path.parent.name}-{path.name.partition('.')[0]}" for path in RECORDINGS]


@pytest.fixture(scope="module", autouse=True)
def _refreshed() -> None:
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        record(CURRENT)


def test_every_version_is_here() -> None:
    versions = {path.parent.name for path in RECORDINGS}
    assert versions == {f"format-{number}" for number in range(1, FORMAT_VERSION + 1)}


@pytest.mark.parametrize("compressed", RECORDINGS, ids=IDS)
def test_everything_reads_as_before(compressed: Path, tmp_path: Path) -> None:
    with open_recording(unpacked(compressed, tmp_path)) as source:
        text = as_text(contents(source))
        assert contradictions(source) == []
    expected = compressed.with_name(f"{compressed.name.partition('.')[0]}.json")
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
        pytest.fail(f"{expected.name} was written anew")
    assert text == expected.read_text(encoding="utf-8")


def test_a_little_of_everything_is_in_them(tmp_path: Path) -> None:
    """Else they would prove little."""
    with open_recording(unpacked(CURRENT / "parent.heapglass.gz", tmp_path)) as parent:
        sites, blocks, modules = parent.sites(), parent.blocks(), parent.modules
        assert {"reader", "writer"} <= {thread.name for thread in parent.threads}
        assert len({thread.shard for thread in parent.threads}) > 1
        assert sites.realloc_moved.sum() > 0 < sites.realloc_in_place.sum()
        assert sites.temporary.sum() >= 50
        assert blocks.size.max() >= 1000
        assert parent.totals.peak_bytes >= 43 << 20
        twins = [m for m in modules if "twin" in m.path]
        assert len({m.start for m in twins}) < len(twins) == 2
        assert len(list(parent.snapshots())) > 1
        assert parent.losses.items == ()
        assert [mark.name for mark in parent.marks()] == ["annotating", "done"]
        annotated = parent.annotated()
        assert (annotated.allocations.sum(), annotated.live_bytes.sum()) == (4, 200)
        pid = parent.process.pid
    with open_recording(unpacked(CURRENT / "child.heapglass.gz", tmp_path)) as child:
        assert child.process.parent_pid == pid
        assert child.process.exit_status == 5
        assert child.losses.events(LossKind.INHERITED_FREE) == 1
    with open_recording(unpacked(CURRENT / "sampled.heapglass.gz", tmp_path)) as sampled:
        assert sampled.recorder.sample_bytes == 4096
        assert len(sampled.recorder.changes) == 1
        assert (sampled.blocks().sample_bytes == 4096).all()
        assert (sampled.sites().live_bytes_error > 0).any()
    with open_recording(unpacked(CURRENT / "middle.heapglass.gz", tmp_path)) as middle:
        stored = {table.name: table.records or 0 for table in middle.workings.tables}
        assert stored["ledger"] > 0 < stored["middle blocks"]
        assert (middle.blocks().size == 16384).sum() == 64
    with open_recording(unpacked(CURRENT / "weighed.heapglass.gz", tmp_path)) as weighed:
        sites = weighed.sites()
        for name in ("temporary", "realloc_in_place", "realloc_moved"):
            assert (getattr(sites, f"{name}_error") > 0).any()
        for histogram in (weighed.size_histogram(), weighed.lifetime_histogram()):
            assert histogram.errors is not None
            assert np.count_nonzero(histogram.errors) > 1
