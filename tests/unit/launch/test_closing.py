from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from heapglass.launch.closing import close_recordings, recordings_of
from heapglass.launch.process import Ending
from heapglass.launch.session import Session
from heapglass.recording import schema
from heapglass.recording.glance import glance
from unit.launch.bare_recording import write_recording

NUMBER = 0xABCDEF
ENDED = Ending(3, 0)


@pytest.fixture
def dead_pid() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def session(tmp_path: Path) -> Session:
    for name in ("out", "tmp"):
        (tmp_path / name).mkdir()
    out, temporary = str(tmp_path / "out"), str(tmp_path / "tmp")
    return Session(NUMBER, f"{out}/%e.%p.heapglass", out, temporary, time.time())


def record(run: Session, name: str, **fields: int | bytes) -> Path:
    return write_recording(Path(run.directory, name), **({"session": NUMBER} | fields))


def test_recordings_are_known_by_their_session(session: Session) -> None:
    ours = record(session, "a.1.heapglass")
    record(session, "b.2.heapglass", session=NUMBER + 1)
    Path(session.directory, "c.3.heapglass").write_text("something else")
    Path(session.directory, "d.4.heapglass").symlink_to(ours)
    Path(session.directory, "e.5.heapglass").mkdir()
    os.mkfifo(Path(session.directory, "f.6.heapglass"))
    assert recordings_of(session) == [str(ours)]


def test_processes_that_could_not_write_there_are_found_elsewhere(session: Session) -> None:
    elsewhere = write_recording(Path(session.temporary, "x.1.heapglass"), session=NUMBER)
    assert recordings_of(session) == [str(elsewhere)]


def test_one_directory_for_both_gives_each_once(session: Session) -> None:
    path = record(session, "a.1.heapglass")
    same = Session(NUMBER, session.template, session.directory, session.directory, session.started)
    assert recordings_of(same) == [str(path)]


def test_directory_that_is_gone_holds_none(session: Session) -> None:
    gone = Session(NUMBER, "/gone/x", "/gone", "/gone", session.started)
    assert recordings_of(gone) == []


def test_files_of_long_ago_are_not_read(session: Session) -> None:
    path = record(session, "a.1.heapglass")
    os.utime(path, (session.started - 1e6, session.started - 1e6))
    assert recordings_of(session) == []


@pytest.mark.parametrize(
    ("ending", "noted"), [(Ending(3, 0), ("exited", 3, 0)), (Ending(0, 9), ("signaled", 0, 9))]
)
def test_end_of_the_program_is_noted(
    session: Session, dead_pid: int, ending: Ending, noted: tuple[str, int, int]
) -> None:
    path = record(session, "a.1.heapglass", pid=dead_pid)
    (found,), troubles = close_recordings(session, dead_pid, ending)
    for each in (found, glance(path)):
        assert (each.state, each.header.exit_status, each.header.exit_signal) == noted
    assert troubles == []


def test_ended_recordings_are_cut_to_their_size(session: Session, dead_pid: int) -> None:
    main = record(session, "a.1.heapglass", pid=dead_pid)
    child = record(session, "a.2.heapglass", pid=dead_pid, state=schema.STATE_EXITED)
    running = record(session, "a.3.heapglass", pid=os.getpid(), ladder=schema.LADDER_OFF)
    close_recordings(session, dead_pid, ENDED)
    sizes = [path.stat().st_size for path in (main, child, running)]
    assert sizes == [schema.STEP, schema.STEP, 4 * schema.STEP]


def test_end_of_a_child_is_not_made_up(session: Session, dead_pid: int) -> None:
    record(session, "child.1.heapglass", pid=dead_pid)
    (found,), _ = close_recordings(session, dead_pid + 1, ENDED)
    assert found.state == "killed"


def test_replaced_program_stays_replaced(session: Session, dead_pid: int) -> None:
    record(session, "env.1.heapglass", pid=dead_pid, state=schema.STATE_EXEC)
    record(session, "tool.1.heapglass", pid=dead_pid, start_wall_ns=2)
    states = [g.state for g in close_recordings(session, dead_pid, ENDED)[0]]
    assert states == ["exec", "exited"]


def test_damaged_recording_is_reported_and_the_rest_closed(session: Session, dead_pid: int) -> None:
    record(session, "bad.1.heapglass", pid=dead_pid, directory=17)
    record(session, "good.1.heapglass", pid=dead_pid)
    glances, troubles = close_recordings(session, dead_pid, ENDED)
    assert [Path(g.path).name for g in glances] == ["good.1.heapglass"]
    assert len(troubles) == 1
    assert "bad.1.heapglass" in troubles[0]


def test_order_is_that_of_the_start(session: Session, dead_pid: int) -> None:
    record(session, "a.1.heapglass", pid=dead_pid, start_wall_ns=30)
    record(session, "b.1.heapglass", pid=dead_pid, start_wall_ns=10)
    glances, _ = close_recordings(session, dead_pid, ENDED)
    assert [Path(g.path).name for g in glances] == ["b.1.heapglass", "a.1.heapglass"]
