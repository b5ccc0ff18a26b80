"""Names of code made at run time, out of perf maps."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from heapglass.model import FrameAddress, Process, ProcessState
from heapglass.symbols.names.perf_map import PerfMap, open_perf_map
from heapglass.symbols.symbolizer import Symbolizer

MAP = """\
7f0000001000 40 py::work:/app/main.py
7f0000001040 20 LazyCompile:~sum a b
nonsense
7f0000002000 zz bad
7f0000003000 0 empty
7f0000001040 10 reused
"""


def process(pid: int = 4242, started_ns: int = 0) -> Process:
    return Process(
        pid=pid,
        parent_pid=1,
        uid=os.getuid(),
        executable="/bin/x",
        argv=("x",),
        working_directory="/",
        host="h",
        state=ProcessState.EXITED,
        exit_status=0,
        exit_signal=None,
        started_wall_ns=started_ns,
        duration_ns=1,
        is_forked=False,
        session=0,
    )


@pytest.mark.parametrize(
    ("address", "name"),
    [
        (0x7F0000000FFF, ""),
        (0x7F0000001000, "py::work:/app/main.py"),
        (0x7F000000103F, "py::work:/app/main.py"),
        (0x7F0000001040, "reused"),
        (0x7F0000001050, ""),
        (0x7F0000003000, ""),
    ],
)
def test_a_name_holds_inside_its_range_only(address: int, name: str) -> None:
    assert PerfMap(MAP).find(address) == name


def test_frames_in_no_module_have_these_names(tmp_path: Path) -> None:
    symbolizer = Symbolizer([], tmp_path, jit=PerfMap(MAP))
    (frame,) = symbolizer.frames(FrameAddress(0x7F0000001040, -1))  # the call ends there
    assert (frame.function, frame.module) == ("py::work:/app/main.py", "[JIT]")
    (frame,) = symbolizer.frames(FrameAddress(0x7F0000009000, -1))
    assert (frame.function, frame.module) == ("", "")


def test_only_the_process_s_own_map_is_believed(tmp_path: Path) -> None:
    path = tmp_path / "perf-4242.map"
    assert open_perf_map(process(), str(tmp_path)) is None
    path.write_text(MAP)
    written_ns = path.stat().st_mtime_ns
    found = open_perf_map(process(), str(tmp_path))
    assert found is not None
    assert found.find(0x7F0000001000)
    assert open_perf_map(process(pid=4243), str(tmp_path)) is None
    later = process(started_ns=written_ns + 60 * 10**9)
    assert open_perf_map(later, str(tmp_path)) is None
    os.utime(path, ns=(0, later.started_wall_ns))
    assert open_perf_map(later, str(tmp_path)) is not None


def test_a_map_of_another_user_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "perf-4242.map"
    path.write_text(MAP)
    stranger = replace(process(), uid=os.getuid() + 1)
    found = open_perf_map(stranger, str(tmp_path))
    assert (found is None) == (os.getuid() != 0)
