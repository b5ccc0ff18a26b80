"""Threads: who allocated, under which name, however many there were."""

from __future__ import annotations

from harness.bench import Bench
from harness.programs import program


def test_names_and_counts(bench: Bench) -> None:
    recording = bench.compare(program("thread_names").argv()).recording
    workers = [t for t in recording.threads if t.tid != recording.process.pid]
    main = next(t for t in recording.threads if t.tid == recording.process.pid)
    assert [t.name for t in workers[:2]] == ["reader", "fifteen-letters"]
    assert workers[2].name == main.name
    assert [(t.allocations, t.bytes_allocated, t.frees) for t in workers] == [(2, 20, 0)] * 3


def test_a_thousand_threads_are_told_apart_and_leave_little_behind(bench: Bench) -> None:
    recording = bench.record(program("threads_sequential").argv()).recording
    workers = [t for t in recording.threads if t.tid != recording.process.pid]
    assert len(workers) == 1000
    assert all((t.allocations, t.bytes_allocated) == (1, 24) for t in workers)
    assert len({t.shard for t in workers}) < 10
    assert recording.recorder.memory_bytes < 64 << 20
