from __future__ import annotations

import os
import subprocess
import sys

import pytest

from heapglass.launch.environment import (
    environment_without,
    inherited_environment,
    recording_environment,
)
from heapglass.launch.options import RunOptions

OPTIONS = RunOptions(("cmd",))


def environment(options: RunOptions = OPTIONS, **base: str) -> dict[str, str]:
    raw = {name.encode(): value.encode() for name, value in base.items()}
    made = recording_environment(raw, options, "/lib/ours.so", "/out/%e.%p", "00ff")
    return {name.decode(): value.decode() for name, value in made.items()}


def test_what_was_there_stays() -> None:
    assert environment(HOME="/root", PATH="/bin")["HOME"] == "/root"
    assert environment(PATH="/bin")["PATH"] == "/bin"


def test_library_reads_what_the_launcher_decided() -> None:
    assert environment() == {
        "LD_PRELOAD": "/lib/ours.so",
        "HEAPGLASS_OUT": "/out/%e.%p",
        "HEAPGLASS_SESSION": "00ff",
        "HEAPGLASS_QUIET": "1",
        "HEAPGLASS_FOLLOW": "1",
    }


def test_each_option_has_its_variable() -> None:
    options = RunOptions(
        ("cmd",),
        follows_children=False,
        depth=9,
        snapshot_seconds="0.5",
        churn_bytes=4096,
        memory_bytes=1 << 30,
        sample="auto",
        report_seconds="5",
        report_to="reports",
        socket="sock.%p",
        has_core=True,
        log="calls.log",
        log_fd=9,
        has_log_stacks=True,
        has_trace=True,
    )
    made = environment(options)
    assert made["HEAPGLASS_FOLLOW"] == "0"
    assert made["HEAPGLASS_DEPTH"] == "9"
    assert made["HEAPGLASS_SNAPSHOT"] == "0.5"
    assert made["HEAPGLASS_CHURN"] == "4096"
    assert made["HEAPGLASS_MEMORY"] == "1073741824"
    assert made["HEAPGLASS_SAMPLE"] == "auto"
    assert made["HEAPGLASS_REPORT"] == "5"
    assert made["HEAPGLASS_REPORT_TO"] == "reports"
    assert made["HEAPGLASS_SOCKET"] == "sock.%p"
    assert made["HEAPGLASS_CORE"] == "1"
    assert made["HEAPGLASS_LOG"] == "calls.log"
    assert made["HEAPGLASS_LOG_FD"] == "9"
    assert made["HEAPGLASS_LOG_STACKS"] == "1"
    assert made["HEAPGLASS_TRACE"] == "1"


def test_users_variables_hold_where_no_option_is_given() -> None:
    assert environment(HEAPGLASS_DEPTH="7")["HEAPGLASS_DEPTH"] == "7"
    assert environment(RunOptions(("cmd",), depth=9), HEAPGLASS_DEPTH="7")["HEAPGLASS_DEPTH"] == "9"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "/lib/ours.so"),
        ("/lib/other.so", "/lib/ours.so:/lib/other.so"),
        ("/lib/a.so /lib/b.so", "/lib/ours.so:/lib/a.so:/lib/b.so"),
        ("/lib/a.so:/lib/ours.so", "/lib/ours.so:/lib/a.so"),
    ],
)
def test_other_preloads_stay_behind_ours(before: str, after: str) -> None:
    assert environment(LD_PRELOAD=before)["LD_PRELOAD"] == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("/lib/a.so /lib/b.so", "/lib/a.so /lib/b.so"), ("/lib/ours.so:/lib/a.so", "/lib/a.so")],
)
def test_library_can_be_kept_out(before: str, after: str) -> None:
    base = {b"LD_PRELOAD": before.encode(), b"HOME": b"/root"}
    expected = {b"LD_PRELOAD": after.encode(), b"HOME": b"/root"}
    assert environment_without(base, "/lib/ours.so") == expected


def test_nothing_to_keep_out_is_added() -> None:
    assert environment_without({b"A": b"b"}, "/lib/ours.so") == {b"A": b"b"}


def test_program_sees_what_we_were_started_with() -> None:
    code = (
        "import os\n"
        "from heapglass.launch.environment import inherited_environment\n"
        "os.environ['ADDED'] = '1'\n"
        "print(sorted(inherited_environment().items()))\n"
    )
    base = {b"PYTHONPATH": os.fsencode(":".join(sys.path)), b"ODD": b"\xff=\n", b"EMPTY": b""}
    done = subprocess.run([sys.executable, "-c", code], env=base, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(sorted(base.items()))


def test_without_proc_the_interpreters_view_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.open", _refuse)
    assert inherited_environment() == dict(os.environb)


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError
