"""`heapglass run` as its user meets it: the recording is there, or it is said why not."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import Cli, bare, only
from harness.programs import program
from heapglass.recording import open_recording
from heapglass.recording.glance import glance


def test_recording_is_where_the_first_line_says(cli: Cli) -> None:
    done = cli("run", "sh", "-c", ":")
    path = only(cli.recordings())
    assert re.fullmatch(r"sh\.\d+\.heapglass", path.name)
    assert done.stderr.splitlines()[0] == f"heapglass: recording to {path.name}"
    assert f"heapglass summary {path.name}" in done.stderr


def test_recording_says_how_the_program_ended(cli: Cli) -> None:
    cli("run", "-o", "exited", "sh", "-c", "exit 3")
    cli("run", "-o", "killed", "sh", "-c", "kill -9 $$")
    exited, killed = glance(cli.directory / "exited"), glance(cli.directory / "killed")
    assert (exited.state, exited.header.exit_status) == ("exited", 3)
    assert (killed.state, killed.header.exit_signal) == ("signaled", 9)


def test_recording_of_a_killed_program_is_cut_to_its_size(cli: Cli) -> None:
    cli("run", "-o", "killed", "sh", "-c", "kill -9 $$")
    path = cli.directory / "killed"
    assert path.stat().st_size == glance(path).header.used


def test_recordings_of_all_that_ended_are_cut(cli: Cli) -> None:
    """Of children, too, which were killed, replaced, or locked in so that they could not do it."""
    confined = shlex.join(program("confined").argv(("prctl", "madvise", "500")))
    deeds = f"(exec ls >/dev/null); bash -c 'kill -9 $$'; {confined}; kill -9 $$"
    cli("run", "bash", "-c", deeds)
    found = [glance(path) for path in cli.recordings()]
    states = [each.state for each in found]
    assert {"exec", "killed", "exited", "signaled"} <= set(states)
    assert [os.stat(each.path).st_size for each in found] == [each.header.used for each in found]


def test_numbers_of_the_last_lines_are_the_recordings(cli: Cli) -> None:
    code = "x = bytearray(50_000_000)"
    done = cli("run", "-o", "out", sys.executable, "-c", code)
    found = glance(cli.directory / "out")
    line = next(line for line in done.stderr.splitlines() if " allocations, " in line)
    assert f": {found.sums.allocations:,} allocations, " in line
    assert re.search(r"; peak (4[89]|5\d)\.\d MiB; ", line)
    assert f" in {found.sums.live_blocks:,} blocks" in line


def test_children_have_a_line_and_a_file_each(cli: Cli) -> None:
    done = cli("run", "sh", "-c", "ls >/dev/null; cat </dev/null; :")
    assert len(cli.recordings()) == 3
    names = {path.name for path in cli.recordings()}
    last = done.stderr.splitlines()
    for tool in ("ls", "cat"):
        (name,) = (name for name in names if name.startswith(f"{tool}."))
        assert any(f"{tool} (" in line and line.endswith(f"; in {name}") for line in last)


def test_one_name_for_all_gets_the_childrens_pids(cli: Cli) -> None:
    cli("run", "-o", "out", "sh", "-c", "ls; :")
    names = sorted(path.name for path in cli.directory.iterdir())
    assert names[0] == "out"
    assert re.fullmatch(r"out\.\d+", names[1])
    assert len(names) == 2


def test_no_follow_records_the_program_only(cli: Cli) -> None:
    cli("run", "--no-follow", "sh", "-c", "ls; cat </dev/null; :")
    assert len(cli.recordings()) == 1


def test_replaced_program_is_recorded_after_and_before(cli: Cli) -> None:
    done = cli("run", "env", "sh", "-c", "exit 4")
    assert done.returncode == 4
    states = sorted(glance(path).state for path in cli.recordings())
    assert states == ["exec", "exited"]


LEAVE_CHILD = """
import os, subprocess, time
no = subprocess.DEVNULL
child = subprocess.Popen(["tail", "-f", "/dev/null"], stdout=no, stderr=no)
print(child.pid, flush=True)
path = f"tail.{child.pid}.heapglass"
while not os.path.exists(path) or open(path, "rb").read(8) != b"heapgls\\n": time.sleep(0.01)
os._exit(0)
"""


def test_child_left_behind_is_said_to_run(cli: Cli) -> None:
    done = cli("run", sys.executable, "-c", LEAVE_CHILD)
    child = int(done.stdout)
    try:
        (line,) = (line for line in done.stderr.splitlines() if f"tail ({child})" in line)
        assert ", still running: " in line
    finally:
        os.kill(child, signal.SIGKILL)


def test_options_reach_the_recording(cli: Cli) -> None:
    options = ("--depth", "9", "--snapshot", "0.25", "--snapshot-churn", "1M", "--memory", "64M")
    cli("run", "-o", "out", *options, "ls")
    header = glance(cli.directory / "out").header
    assert header.depth_limit == 9
    assert header.snapshot_interval_ns == 250_000_000
    assert header.snapshot_churn_bytes == 1 << 20
    assert header.memory_budget == 64 << 20


def test_variables_of_the_user_hold_where_no_option_is_given(cli: Cli) -> None:
    environment = {
        "HEAPGLASS_OUT": "mine.heapglass",
        "HEAPGLASS_DEPTH": "seven",
        "HEAPGLASS_FOLLOW": "0",
        "HEAPGLASS_BUDGET": "abc",
    }
    done = cli("run", "sh", "-c", "ls; true", environment=environment)
    assert [path.name for path in cli.recordings()] == ["mine.heapglass"]
    assert "heapglass: HEAPGLASS_DEPTH=seven is not a number of frames" in done.stderr
    assert done.stderr.count("heapglass: HEAPGLASS_BUDGET=abc is not a percentage") == 1
    assert open_recording(cli.directory / "mine.heapglass").recorder.depth_limit == 256


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--log-fd", "99"), "descriptor 99 (HEAPGLASS_LOG_FD) is not open for writing"),
        (("--snapshot-log", "/nowhere/x"), "cannot create /nowhere/x (no such file or directory)"),
        (("--leaks-to", "/nowhere/x"), "cannot create /nowhere/x (no such file or directory)"),
    ],
)
def test_an_output_that_is_lost_is_told_with_its_name_and_the_reason(
    cli: Cli, options: tuple[str, ...], words: str
) -> None:
    done = cli("run", "-q", "--no-follow", *options, sys.executable, "-c", "pass")
    assert done.returncode == 0
    assert done.stderr.count(f"heapglass: {words}") == 1


def test_existing_file_is_kept_without_force(cli: Cli) -> None:
    cli("run", "-o", "out", "ls")
    before = (cli.directory / "out").read_bytes()
    done = cli("run", "-o", "out", "touch", "started")
    assert done.returncode == 125
    assert "out exists already" in done.stderr
    assert not (cli.directory / "started").exists()
    assert (cli.directory / "out").read_bytes() == before
    assert cli("run", "-f", "-o", "out", "ls").returncode == 0
    assert (cli.directory / "out").read_bytes() != before


def test_force_never_removes_anything_but_a_recording(cli: Cli) -> None:
    (cli.directory / "thesis").write_text("precious")
    assert cli("run", "-f", "-o", "thesis", "true").returncode == 125
    assert (cli.directory / "thesis").read_text() == "precious"


def test_quiet_is_quiet(cli: Cli) -> None:
    assert cli("run", "-q", "sh", "-c", "ls >/dev/null; :").stderr == ""
    assert len(cli.recordings()) == 2


def test_program_that_allocates_nothing_leaves_nothing(cli: Cli) -> None:
    done = cli("run", "true", environment={"LC_ALL": "C"})
    assert "nothing was recorded" in done.stderr
    assert cli.recordings() == []


def test_recording_that_cannot_be_made_is_not_taken_for_no_allocations(cli: Cli) -> None:
    command = shlex.join(cli.argv("run", "cat"))
    done = bare(
        *("bash", "-c", f"ulimit -f 10; exec {command}"),
        cwd=cli.directory,
        env=cli.environment(),
        input="through\n",
    )
    assert (done.returncode, done.stdout) == (0, "through\n")
    assert "this process is not recorded\n" in done.stderr
    assert done.stderr.splitlines()[-1] == (
        "heapglass: nothing was recorded: no allocation was seen, or no recording could be made"
    )


def test_directory_that_takes_no_file_moves_the_recording(cli: Cli, tmp_path: Path) -> None:
    elsewhere, small = tmp_path / "elsewhere", tmp_path / "small"
    elsewhere.mkdir()
    small.mkdir()
    command = shlex.join(cli.argv("run", "-o", small / "x", "cat"))
    mount = shlex.join(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(small)])
    done = bare(
        *("unshare", "--map-root-user", "--mount", "sh", "-c", f"{mount} && exec {command}"),
        cwd=cli.directory,
        env=cli.environment({"TMPDIR": str(elsewhere)}),
        stdin=subprocess.DEVNULL,
    )
    path = only(list(elsewhere.iterdir()))
    assert done.stderr.splitlines()[-2:] == [
        f"heapglass: no recording could be made in {small}: it is in {elsewhere}",
        f"heapglass: recorded in {path}; see: heapglass summary {path}",
    ]


def test_program_that_cannot_be_recorded_runs_and_it_is_said(cli: Cli) -> None:
    source = '#include <stdio.h>\nint main(void) { puts("static"); return 5; }'
    path = cli.directory / "static"
    subprocess.run(["cc", "-static", "-xc", "-", "-o", path], input=source, text=True, check=True)
    done = cli("run", "./static")
    assert (done.returncode, done.stdout) == (5, "static\n")
    assert done.stderr == (
        "heapglass: ./static is statically linked: nothing in it can be seen; "
        "its dynamically linked children will be\n"
        "heapglass: nothing was recorded: no allocation was seen, or no recording could be made\n"
    )


SAY_HELLO = """
#include <stdio.h>
#include <stdlib.h>
int main(void) { puts("hello"); return malloc(123) ? 4 : 5; }
"""


def test_program_with_address_sanitizer_runs_and_it_is_said(cli: Cli) -> None:
    path = cli.directory / "asan"
    command = ["cc", "-fsanitize=address", "-xc", "-", "-o", path]
    subprocess.run(command, input=SAY_HELLO, text=True, check=True)
    settings = {"ASAN_OPTIONS": "detect_leaks=0"}
    done = cli("run", "./asan", environment=settings)
    assert (done.returncode, done.stdout) == (4, "hello\n")
    assert done.stderr == (
        "heapglass: ./asan needs AddressSanitizer's library, which must be loaded first: "
        "neither it nor what it starts can be recorded\n"
    )
    assert cli("run", "-q", "./asan", environment=settings).stderr == ""


def test_preloaded_address_sanitizer_stays_first(cli: Cli) -> None:
    library = subprocess.check_output(["cc", "-print-file-name=libasan.so"], text=True).strip()
    settings = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}
    done = cli("run", "cat", stdin="through\n", environment=settings)
    assert (done.returncode, done.stdout) == (0, "through\n")
    assert done.stderr.startswith("heapglass: cat gets AddressSanitizer's library, which must be ")
    assert cli.recordings() == []


def test_program_of_another_c_library_is_recorded(cli: Cli) -> None:
    source = "#include <stdlib.h>\nint main(void) { return malloc(123) ? 4 : 5; }"
    command = ["musl-gcc", "-fno-builtin", "-xc", "-", "-o", cli.directory / "musl"]
    subprocess.run(command, input=source, text=True, check=True)
    assert cli("run", "-o", "out", "./musl").returncode == 4
    sums = glance(cli.directory / "out").sums
    assert (sums.allocations, sums.live_bytes) == (1, 123)


def test_directory_that_is_gone_moves_the_recordings(cli: Cli, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = shlex.join(cli.argv("run", "ls", "-d", "/"))
    done = bare(
        *("sh", "-c", f"mkdir gone; cd gone; rmdir ../gone; exec {command}"),
        cwd=cli.directory,
        env=cli.environment({"TMPDIR": str(elsewhere)}),
    )
    path = only(list(elsewhere.iterdir()))
    assert done.stderr.splitlines()[:2] == [
        f"heapglass: the current directory is gone: recordings go to {elsewhere}",
        f"heapglass: recording to {path}",
    ]


def test_recording_that_had_to_go_elsewhere_is_found(cli: Cli, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    name = "x" * 300  # longer than a name may be
    done = cli("run", "-o", name, "ls", "-d", "/", environment={"TMPDIR": str(elsewhere)})
    assert f"recorded in {only(list(elsewhere.iterdir()))}; " in done.stderr


def test_percent_sign_in_the_directory_stays_one(cli: Cli) -> None:
    odd = cli.directory / "100%p"
    odd.mkdir()
    cli("run", "ls", cwd=odd)
    assert re.fullmatch(r"ls\.\d+\.heapglass", only(list(odd.iterdir())).name)


def test_run_inside_run_keeps_both_sessions_apart(cli: Cli) -> None:
    inner = cli.argv("run", "-o", "inner", "ls")
    done = cli("run", "-o", "outer", *inner)
    assert done.returncode == 0
    inner_session = glance(cli.directory / "inner").header.session
    outer_session = glance(cli.directory / "outer").header.session
    assert inner_session != outer_session


def test_closed_stderr_does_not_matter(cli: Cli) -> None:
    command = shlex.join(cli.argv("run", "sh", "-c", "exit 3"))
    done = bare("sh", "-c", f"{command} 2>&-", cwd=cli.directory, env=cli.environment())
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")
