from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from heapglass.launch.report import LOSS_WORDS, MOST_CHILDREN, REASON_WORDS, closing_lines
from heapglass.launch.session import Session
from heapglass.model.process import LossKind
from heapglass.recording import schema
from heapglass.recording.glance import Glance, glance
from unit.launch.bare_recording import write_recording


@pytest.fixture(scope="module")
def pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def lines(
    glances: list[Glance], pid: int, directory: Path, wanted: Path | None = None
) -> list[str]:
    """As seen from `directory`, in a run whose recordings were to go to `wanted`."""
    where = str(wanted or Path(glances[0].path).parent)
    session = Session(1, f"{where}/%e.%p.heapglass", where, str(directory), 0.0)
    return list(closing_lines(glances, pid, session, str(directory)))


def test_every_loss_and_reason_has_words() -> None:
    assert set(LOSS_WORDS) == {kind.value for kind in LossKind}
    assert set(REASON_WORDS) == set(schema.REASONS[1:])


def test_program_comes_first_and_names_its_recording(pid: int, tmp_path: Path) -> None:
    fields = {"pid": pid, "end_ns": 2_500_000_000, "state": schema.STATE_EXITED}
    main = glance(write_recording(tmp_path / "m.heapglass", **fields, peak_bytes=3 << 20))
    child = glance(write_recording(tmp_path / "c", pid=pid + 1, executable=b"/bin/sh", state=2))
    assert lines([child, main], pid, tmp_path) == [
        f"tool ({pid}) ran 2.5 s: 0 allocations, 0 B; peak 3.0 MiB; live at exit: 0 B in 0 blocks",
        "recorded in m.heapglass; see: heapglass summary m.heapglass",
        f"sh ({pid + 1}), child: 0 allocations; peak 0 B; live at exit: 0 B in 0 blocks; in c",
    ]


def test_libraries_without_names_are_counted(pid: int, tmp_path: Path) -> None:
    main = glance(write_recording(tmp_path / "m", pid=pid, modules=schema.MODULES + 7))
    assert lines([main], pid, tmp_path)[1] == (
        "no room to note 7 loads of libraries: their code has no names"
    )


def test_losses_and_their_reason_are_said(pid: int, tmp_path: Path) -> None:
    losses = b"".join(n.to_bytes(8, "little") for n in [0] * 8 + [12_345, 6] + [0] * 6)
    main = glance(
        write_recording(
            tmp_path / "m",
            pid=pid,
            losses=losses,
            ladder=schema.LADDER_DROPPING,
            ladder_reason=schema.REASONS.index("disk_full"),
            ladder_ns=1_500_000_000,
        )
    )
    told = lines([main], pid, tmp_path)
    assert told[1] == (
        "not seen, or only in part: stacks cut at the depth limit (12.3 k), "
        "stacks ending in code without unwind information (6)"
    )
    assert told[2] == (
        "recording is incomplete (dropping) from 1.5 s on: there was no space left for the file"
    )


def test_workers_are_told_apart_by_their_titles(pid: int, tmp_path: Path) -> None:
    nobody = 5_000_000  # no process has such a number
    named = {"pid": nobody, "version": 6, "header_size": schema.Header.SIZE, "name": b"nginx"}
    child = write_recording(tmp_path / "c", **named, title=b"nginx: worker process", flags=1)
    other = write_recording(tmp_path / "o", **named, title=b"w" * 60, flags=1)
    plain = write_recording(tmp_path / "p", **named, flags=1)
    told = lines([glance(path) for path in (child, other, plain)], pid, tmp_path)
    assert told[1].startswith(f"nginx: worker process ({nobody}), child: ")
    assert told[2].startswith(f"{'w' * 47}... ({nobody}), child: ")
    assert told[3].startswith(f"nginx ({nobody}), child: ")


def losing(directory: Path, events: dict[LossKind, int], **fields: int) -> Glance:
    kinds = list(LossKind)
    losses = b"".join(events.get(kind, 0).to_bytes(8, "little") for kind in kinds)
    return glance(write_recording(directory / "losing", losses=losses, **fields))


def test_children_say_what_was_lost(pid: int, tmp_path: Path) -> None:
    """Blocks that came from the parent process are in no number, and change none."""
    events = {LossKind.INHERITED_FREE: 50_000, LossKind.STACK_DEPTH: 800}
    told = lines([losing(tmp_path, events, pid=pid + 1)], pid, tmp_path)
    assert "; not seen, or only in part: stacks cut at the depth limit (800); in " in told[1]
    inherited = losing(tmp_path, {LossKind.INHERITED_FREE: 50_000}, pid=pid + 1)
    assert "not seen" not in lines([inherited], pid, tmp_path)[1]


@pytest.mark.parametrize(("error", "told"), [(9_999, False), (10_000, True)])
def test_a_peak_is_said_that_may_be_a_per_cent_higher(
    pid: int, tmp_path: Path, *, error: int, told: bool
) -> None:
    main = losing(tmp_path, {}, pid=pid, peak_bytes=10**6, peak_error_bytes=error)
    assert (
        any("the peak may be up to 9.8 KiB higher" in line for line in lines([main], pid, tmp_path))
        == told
    )


@pytest.mark.parametrize("pause", [{"paused_ns": 7}, {"paused_since": 1}])
def test_a_pause_is_said_where_it_puts_totals_off(
    pid: int, tmp_path: Path, pause: dict[str, int]
) -> None:
    light = glance(write_recording(tmp_path / "l", pid=pid, flags=schema.FLAG_USABLE, **pause))
    exact = glance(write_recording(tmp_path / "x", pid=pid, **pause))
    assert any(line.startswith("recording was paused: ") for line in lines([light], pid, tmp_path))
    assert not any("paused" in line for line in lines([exact], pid, tmp_path))


def test_last_recording_of_an_exec_chain_is_the_program(pid: int, tmp_path: Path) -> None:
    first = write_recording(tmp_path / "1", pid=pid, executable=b"/bin/env", state=4)
    last = write_recording(tmp_path / "2", pid=pid, state=schema.STATE_EXITED)
    told = lines([glance(first), glance(last)], pid, tmp_path)
    assert told[0].startswith(f"tool ({pid}) ran")
    assert told[2].startswith(f"env ({pid}), before exec: ")


def test_children_without_the_program_are_shown(pid: int, tmp_path: Path) -> None:
    child = glance(write_recording(tmp_path / "c", pid=os.getpid(), ladder=schema.LADDER_OFF))
    told = lines([child], pid, tmp_path)
    assert told[0].startswith("the program itself was not recorded")
    assert ", still running: " in told[1]
    assert "; now live: " in told[1]


def test_thousands_of_children_do_not_flood_the_terminal(pid: int, tmp_path: Path) -> None:
    child = glance(write_recording(tmp_path / "c", pid=pid + 1))
    told = lines([child] * (MOST_CHILDREN + 1500), pid, tmp_path)
    assert len(told) == MOST_CHILDREN + 2
    assert told[-1] == "... and 1,500 recordings more"


def test_recording_elsewhere_keeps_its_whole_path(pid: int, tmp_path: Path) -> None:
    main = glance(write_recording(tmp_path / "m", pid=pid))
    assert lines([main], pid, tmp_path / "other")[-1].startswith(f"recorded in {tmp_path}/m; ")


def test_recording_that_is_not_where_it_was_to_be_is_told(pid: int, tmp_path: Path) -> None:
    main = glance(write_recording(tmp_path / "m", pid=pid))
    assert lines([main], pid, tmp_path, Path("/proc"))[-2:] == [
        f"no recording could be made in /proc: it is in {tmp_path}",
        "recorded in m; see: heapglass summary m",
    ]


def test_other_name_of_the_same_directory_is_not_told(pid: int, tmp_path: Path) -> None:
    main = glance(write_recording(tmp_path / "m", pid=pid))
    assert len(lines([main], pid, tmp_path, tmp_path / "..")) == 3
    assert len(lines([main], pid, tmp_path, tmp_path / ".")) == 2


def test_name_can_be_pasted_into_a_shell(pid: int, tmp_path: Path) -> None:
    main = glance(write_recording(tmp_path / "my recording", pid=pid))
    assert lines([main], pid, tmp_path)[-1].endswith("; see: heapglass summary 'my recording'")


def test_a_program_that_was_killed_did_not_exit(pid: int, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "m", pid=pid, state=schema.STATE_SIGNALED)
    assert "; live at its end: 0 B" in lines([glance(path)], pid, tmp_path)[0]
