"""Forked processes: a recording each, from the first allocation on, and the parent's untouched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.bench import Bench, opened, setting_for
from harness.consistency import contradictions
from harness.counters import Counters, by_name
from harness.programs import program
from harness.running import Setting, library, under_heapglass
from heapglass.model import HeapSource, LossKind, ProcessState
from heapglass.recording import open_recording
from heapglass.views.summary import command_text

FORK = program("fork")
# The child allocates five blocks, frees three it inherited and resizes a fourth.
CHILD = {"site_child": (5, 50, 5), "site_grown": (1, 5000, 1)}
PARENT = {"site_parent_before": (20, 2000, 0), "site_parent_after": (1, 70, 1)}


def sites(source: HeapSource) -> dict[object, tuple[int, int, int]]:
    """Allocations, bytes and live blocks of each named site."""
    named = {name: c for name, c in by_name(source).items() if name}
    return {name: (c["allocations"], c["bytes"], c["live_blocks"]) for name, c in named.items()}


def parent_and_children(recordings: tuple[HeapSource, ...]) -> tuple[HeapSource, list[HeapSource]]:
    parents = [r for r in recordings if not r.process.is_forked]
    assert len(parents) == 1
    return parents[0], [r for r in recordings if r.process.is_forked]


@pytest.mark.parametrize("how", ["plain", "raw", "from_thread"])
def test_a_child_has_its_own_recording(bench: Bench, how: str) -> None:
    run = bench.compare(FORK.argv((how,)))
    parent, [child] = parent_and_children(run.recordings)
    assert sites(parent) == PARENT
    assert sites(child) == CHILD
    assert child.process.parent_pid == parent.process.pid
    assert child.losses.events(LossKind.INHERITED_FREE) == 4
    assert parent.losses.items == ()
    assert contradictions(parent) == contradictions(child) == []


@pytest.mark.parametrize("how", ["free_only", "silent"])
def test_a_child_that_never_allocates_has_none(bench: Bench, how: str) -> None:
    run = bench.compare(FORK.argv((how,)))
    assert sites(run.recording) == PARENT


def test_a_grandchild_has_its_own_recording(bench: Bench) -> None:
    parent, children = parent_and_children(bench.compare(FORK.argv(("grandchild",))).recordings)
    child, grandchild = sorted(children, key=lambda r: "site_grown" in sites(r))
    assert sites(parent) == PARENT
    assert sites(child) == {"site_child": (2, 20, 2)}
    assert sites(grandchild) == CHILD
    assert grandchild.process.parent_pid == child.process.pid
    assert child.process.parent_pid == parent.process.pid


def test_children_of_a_busy_process(bench: Bench) -> None:
    parent, children = parent_and_children(bench.compare(program("fork_busy").argv()).recordings)
    assert len(children) == 30
    for child in children:
        assert sites(child) == {"site_child": (100, 1000, 100)}
        assert child.process.state is ProcessState.EXITED
        assert contradictions(child) == []
    busy: Counters = by_name(parent)["site_busy"]
    assert busy["allocations"] == busy["frees"] == busy["temporary"] > 0


def test_a_child_in_a_jail_runs_on(bench: Bench) -> None:
    jailed = program("fork_in_chroot")
    recordings = bench.compare_program(jailed.argv(), setting_for(jailed)).recordings
    parent, _ = parent_and_children(recordings)
    assert sites(parent) == {"site_block": (2, 200, 2)}


def test_a_daemon_loses_nothing_and_keeps_its_descriptors(bench: Bench) -> None:
    logs = [bench.directory / name for name in ("bare", "glass")]
    argv = program("daemon").argv()
    bench.record([*argv, str(logs[0])], Setting())
    run = bench.record([*argv, str(logs[1])])
    assert [log.read_text() for log in logs] == ["descriptors 0 1\n"] * 2
    [daemon] = [r for r in run.recordings if "site_work" in sites(r)]
    assert sites(daemon) == {"site_work": (100, 20000, 100)}


def test_workers_have_titles_of_their_own(bench: Bench) -> None:
    """The master keeps the command that it was started by; a title is known of a killed one."""
    titled = program("titled").argv()
    processes = [r.process for r in bench.compare(titled).recordings]
    assert {process.name for process in processes} == {Path(titled[0]).name}
    [master] = [process for process in processes if not process.is_forked]
    assert master.argv == tuple(titled)
    assert master.title == "titled: master process"
    workers = [process for process in processes if process.is_forked]
    titles = {"titled: worker process", "titled: cache process"}
    assert {process.title for process in workers} == titles
    assert {process.argv for process in workers} == {(title,) for title in titles}
    assert {command_text(process) for process in workers} == titles


def test_a_title_of_a_running_process_is_its_present_one(bench: Bench) -> None:
    """Though it has not allocated since it was written."""
    where = bench.fresh("running")
    code = '$0 = "perl: idle"; $| = 1; print "ready"; sleep 600'
    setting = under_heapglass()
    environment = os.environ | {**setting.environment, "LD_PRELOAD": library()}
    with subprocess.Popen(
        ["perl", "-e", code], cwd=where, env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(5) == b"ready"
        [path] = where.iterdir()
        found = open_recording(path).process
        process.kill()
    assert (found.name, found.title) == ("perl", "perl: idle")
    assert found.argv == ("perl", "-e", code)


def test_a_child_of_a_process_that_overwrote_its_environment(bench: Bench) -> None:
    """As servers do to change their title: our options must not be looked up there again."""
    out = bench.directory / "given.rec"
    bench.compare(program("title").argv(), under_heapglass(HEAPGLASS_OUT=str(out)))
    recordings = opened(bench.directory, "given.rec*")
    parent, [child] = parent_and_children(recordings)
    assert sites(parent) == {"site_block": (2, 200, 2)}
    assert sites(child) == {"site_block": (1, 100, 1)}
