"""Requests that are refused take no part in which blocks are sampled."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from harness.names import function_names, site_name
from harness.programs import program
from harness.running import Outcome, run, under_heapglass
from heapglass.recording import open_recording

REFUSED = program("refused")
SEEDS = 30
GIVEN = 300  # blocks of each site
SITES = ("site_malloc", "site_calloc", "site_aligned", "site_realloc")

Estimate = tuple[float, float]  # blocks, with their standard error


def recorded(directory: Path, arguments: list[str], seed: int) -> dict[str, Estimate]:
    options = {"HEAPGLASS_SAMPLE": "256k", "HEAPGLASS_SEED": str(seed), "HEAPGLASS_OUT": "x.rec"}
    outcome = run(REFUSED.argv(*arguments), directory, under_heapglass(**options))
    assert outcome.status == 0, outcome
    found: dict[str, Estimate] = {}
    with open_recording(directory / "x.rec") as source:
        table = source.sites()
        for row, site in enumerate(table.id.tolist()):
            name = site_name(function_names(source, site))
            blocks, error = found.get(name, (0.0, 0.0))
            blocks += float(table.allocations[row])
            found[name] = blocks, math.hypot(error, float(table.allocations_error[row]))
    (directory / "x.rec").unlink()
    return found


@pytest.mark.parametrize("arguments", [[], ["crowded"]])
def test_no_bias_and_nothing_missed(tmp_path: Path, arguments: list[str]) -> None:
    runs = [recorded(tmp_path, arguments, seed) for seed in range(1, SEEDS + 1)]
    for site in SITES:
        found = [one.get(site, (0.0, 0.0)) for one in runs]
        mean = sum(blocks for blocks, _ in found) / SEEDS
        error = math.sqrt(sum(error**2 for _, error in found)) / SEEDS
        assert abs(mean - GIVEN) <= 4 * error, (site, mean, error)
    # Larger than a few intervals, so each is recorded; a size below zero came before them.
    assert all(one["site_last"] == (8, 0) for one in runs)


@pytest.mark.parametrize("options", [{}, {"HEAPGLASS_SAMPLE": "1G"}, {"HEAPGLASS_PAUSED": "1"}])
def test_where_a_handler_forks_meanwhile(tmp_path: Path, options: dict[str, str]) -> None:
    outcome = run(program("fork_refused").argv(), tmp_path, under_heapglass(**options))
    assert outcome == Outcome(7, b"", b"")
