"""kill -9 at any moment: what is left always opens and agrees with itself."""

from __future__ import annotations

import os
import random
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from harness import soak
from harness.bench import Bench
from harness.programs import program
from harness.running import is_started, library
from heapglass.model import HeapSource, ProcessState
from heapglass.recording import open_recording

THREADS = 4  # of the program; each may have been in the middle of one event


def killed_after(seconds: float, directory: Path) -> Path:
    path = directory / "killed.rec"
    environment = {**os.environ, "LD_PRELOAD": library(), "HEAPGLASS_OUT": str(path)}
    environment |= {"HEAPGLASS_SNAPSHOT": "0.01", "HEAPGLASS_QUIET": "1"}
    process = subprocess.Popen(program("churn").argv(), cwd=directory, env=environment)
    time.sleep(seconds)
    process.kill()
    process.wait()
    return path


def disagreements(source: HeapSource) -> list[str]:
    """As `contradictions`, but for the one event each thread was in the middle of."""
    totals, table, blocks = source.totals, source.sites(), source.blocks()
    pairs = {
        "allocations": (int(table.allocations.sum()), totals.allocations),
        "frees": (int(table.frees.sum()), totals.frees),
        "live blocks": (int(table.live_blocks.sum()), totals.live_blocks),
        "blocks": (len(blocks), totals.live_blocks),
    }
    found = [f"{k}: {a} and {b}" for k, (a, b) in pairs.items() if abs(a - b) > 2 * THREADS]
    in_ledger = np.bincount(blocks.site, minlength=int(table.id.max(initial=0)) + 1)
    off = np.abs(in_ledger[table.id] - table.live_blocks)
    if int(off.sum()) > 2 * THREADS:
        found.append(f"sites and ledger are {int(off.sum())} blocks apart")
    return found + [
        f"snapshot at {s.time_ns}" for s in source.snapshots() if (s.allocations < 0).any()
    ]


@pytest.mark.parametrize("seed", range(soak.amount(5, 2)))
def test_ten_kills(bench: Bench, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    for _ in range(10):
        path = killed_after(
            chance.choice([0.004, 0.05, 0.1]) * chance.random(), bench.fresh("kill")
        )
        if not is_started(path):
            continue
        source = open_recording(path)
        assert source.process.state is ProcessState.KILLED
        assert disagreements(source) == []
        for site in source.sites().id.tolist():
            assert source.stack(site).frames
