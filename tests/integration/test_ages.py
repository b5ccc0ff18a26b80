"""Births, lifetimes and sizes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from harness.bench import Bench
from harness.comparison import TICK_NS
from harness.counters import rows
from harness.names import site_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.model import HeapSource


def site_of(source: HeapSource, name: str) -> int:
    return next(row.site for row in rows(source) if site_name(row.names) == name)


def test_births_are_right_and_kept_by_realloc(bench: Bench) -> None:
    read_end, write_end = os.pipe()
    setting = replace(under_heapglass(), pass_fds=(write_end,))
    recording = bench.record(program("ages").argv((str(write_end),)), setting).recording
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        born = [int(line) for line in pipe]
    blocks, start = recording.blocks(), recording.process.started_wall_ns
    for name, true in zip(["site_resized", "site_young"], born, strict=True):
        [birth] = blocks.birth_ns[blocks.site == site_of(recording, name)].tolist()
        assert birth + start == pytest.approx(true, abs=TICK_NS)


def lifetimes(source: HeapSource, name: str) -> list[int]:
    """Of all sites of the function: an unrolled loop calls it from several places."""
    sites = [row.site for row in rows(source) if site_name(row.names) == name]
    return sum(source.lifetime_histogram(site).counts for site in sites).tolist()


def test_lifetimes_fall_into_their_buckets(bench: Bench) -> None:
    recording = bench.compare(program("lifetimes").argv()).recording
    names = ("site_brief", "site_short", "site_long")
    brief, short, long = (lifetimes(recording, name) for name in names)
    assert sum(brief[:5]) == 100
    assert sum(short[4:7]) == 10, "24 ms and what a loaded machine adds"
    assert sum(long[8:]) == 10, "200 ms or more"


def test_sizes_fall_into_their_buckets(bench: Bench) -> None:
    recording = bench.compare(program("lifetimes").argv()).recording
    counts = recording.size_histogram(site_of(recording, "site_sizes")).counts.tolist()
    sizes = [0, 1, 2, 3, 4, 7, 8, 1023, 1024, 1025, 64, 65456]
    assert counts == [sum(size.bit_length() == bucket for size in sizes) for bucket in range(48)]
