"""malloc-stat's text, step by step: its program, its commands, its log; the library's path and the
programs' names aside."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.conversation import until
from harness.programs import SOURCES, program
from harness.running import library
from harness.text_log import Process, check_order, parse
from heapglass.launch.library import include_directory


def shell(directory: Path, script: str) -> str:
    """As typed, with $SO for the library and $PROGRAM for a program of ours; what it printed."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env={
            "PATH": "/usr/bin:/bin",
            "HEAPGLASS_QUIET": "1",
            "SO": library(),
            "PROGRAM": program("log_calls").path(),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


def only(text: bytes) -> Process:
    (process,) = parse(text).values()
    return process


# ---- API


def build(directory: Path, source: str) -> Path:
    path = directory / "example"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", f"-I{include_directory()}"]
    subprocess.run(["gcc", *flags, SOURCES / source, "-o", path], check=True)
    return path


@pytest.fixture
def built(tmp_path: Path) -> Path:
    return build(tmp_path, "malloc_stat_user.c")


@pytest.fixture
def logging(tmp_path: Path) -> Path:
    return build(tmp_path, "malloc_stat_logs.c")


RULE = r"\+={74}\+\n"
TABLE = re.compile(
    rf"(\w+):\n{RULE}"
    r"\| allocs  : ([\d ]{14,})\| deallocs: ([\d ]{14,})\| inuse: ([\d ]{14,})\|\n"
    r"\| AL bytes: ([\d ]{14,})\| DE bytes: ([\d ]{14,})\| peak : ([\d ]{14,})\|\n"
    rf"{RULE}"
)


def test_the_program_compiles_and_its_numbers_are_right(built: Path, tmp_path: Path) -> None:
    printed = shell(tmp_path, f'LD_PRELOAD="$SO" {built}; echo "status $?"')
    found = {name: list(map(int, numbers)) for name, *numbers in TABLE.findall(printed)}
    calls, frees, in_use, allocated, deallocated, peak = range(6)
    before, after, resized = found["before"], found["allocated"], found["resized"]
    assert after[calls] == before[calls] + 1
    assert after[allocated] == before[allocated] + 40  # what glibc gives for 32
    assert after[in_use] == after[allocated] - after[deallocated]
    assert after[peak] >= after[in_use]
    assert after[frees] == before[frees] == 0
    assert resized == [1, 1, 32, 72, 40, 32]
    assert printed.endswith("status 0\n")


@pytest.mark.parametrize("compiler", ["gcc -std=c89", "gcc -std=gnu89", "g++ -std=c++98"])
def test_the_header_is_for_old_compilers_too(tmp_path: Path, compiler: str) -> None:
    source = tmp_path / ("use.cc" if compiler.startswith("g++") else "use.c")
    source.write_text(
        "#include <malloc-stat/api.h>\n"
        'int main(void) { MALLOC_STAT_SHOW("all", MALLOC_STAT_GET_STAT_FNPTR()); return 0; }\n'
    )
    flags = ["-Wall", "-Wextra", "-pedantic-errors", "-Werror", f"-I{include_directory()}"]
    subprocess.run([*compiler.split(), *flags, "-c", source, "-o", "/dev/null"], check=True)


def test_the_log_goes_to_stdout_and_ends_with_what_leaked(built: Path, tmp_path: Path) -> None:
    printed = shell(tmp_path, f'LD_PRELOAD="$SO" {built}')
    log, _, rest = printed.partition("stdio has its buffer now\n")
    process = headless(log.encode())
    assert "resized:" in rest
    entries = [(e.name, e.size) for e in process.entries]
    assert entries == [("realloc-inplace", 64), ("FINI", 0)]
    notes = "\n".join(process.notes)
    assert re.search(r"leaked 2 blocks, \d+ bytes, from 2 stacks", notes)
    assert re.search(r"1 block, 64 bytes\n +main\+0x[0-9a-f]+  example\+0x[0-9a-f]+", notes)


def test_without_the_library_the_program_is_told_so(built: Path, tmp_path: Path) -> None:
    done = subprocess.run([built], cwd=tmp_path, capture_output=True, check=False)
    assert b"Assertion `get_stat' failed" in done.stderr


def headless(text: bytes) -> Process:
    """Of a log that has entries alone."""
    match = re.search(rb"^\+ \S+ \d+ \S+ (\d+) ", text, re.MULTILINE)
    assert match
    (process,) = parse(text, int(match[1])).values()
    assert not process.executable
    assert not process.times
    check_order(process)
    return process


def names_and_sizes(process: Process) -> list[tuple[str, int]]:
    return [(entry.name, entry.size) for entry in process.entries]


LAST = [("malloc", 500), ("free", 500), ("FINI", 0)]


def test_a_descriptor_set_later_gets_entries_alone(logging: Path, tmp_path: Path) -> None:
    """The program checks what it hears through its pipes; the last is left to us."""
    printed = shell(tmp_path, f'LD_PRELOAD="$SO" {logging} && echo no >&2; exit $?').encode()
    assert names_and_sizes(headless(printed)) == LAST
    (tmp_path / "calls.log").write_bytes(printed)
    document = json.loads(Cli(tmp_path)("log", "--json", "calls.log").stdout)
    (process,) = document["processes"]
    assert document["log"]["not_understood"] == 0
    assert process["totals"]["allocations"] == process["totals"]["frees"] == 1
    assert process["calls"]["FINI"] == 1


def test_maps_come_before_stacks(logging: Path, tmp_path: Path) -> None:
    script = f'HEAPGLASS_LOG_STACKS=1 LD_PRELOAD="$SO" {logging} x 1022>/dev/null'
    text = shell(tmp_path, script).encode()
    process = headless(text)
    assert text.startswith(b"# PID ")
    assert len(process.maps) == 1
    assert names_and_sizes(process) == [("malloc", 400), ("free", 400), *LAST]
    (tmp_path / "calls.log").write_bytes(text)
    document = json.loads(Cli(tmp_path)("log", "--json", "calls.log").stdout)
    (shown,) = document["processes"]
    functions = {frame["function"] for row in shown["callers"] for frame in row["stack"]}
    assert "main" in functions


def test_the_header_is_written_once(logging: Path, tmp_path: Path) -> None:
    shell(tmp_path, f'LD_PRELOAD="$SO" {logging} x 1022>calls.log >/dev/null')
    process = only((tmp_path / "calls.log").read_bytes())
    assert len(process.maps) == 1
    calls = [(entry.name, entry.size) for entry in process.calls if entry.size in (100, 200, 300)]
    assert calls == [("malloc", 100), ("free", 100), ("malloc", 300), ("free", 300)]
    assert [entry.name for entry in process.entries].count("INIT") == 1


# ---- usage


def test_logging_to_a_file(tmp_path: Path) -> None:
    assert shell(tmp_path, 'LD_PRELOAD="$SO" $PROGRAM a b 1022>program.log') == "done\n"
    process = only((tmp_path / "program.log").read_bytes())
    assert process.has_ended
    check_order(process)


def test_logging_to_a_pipe_processed_on_the_same_computer(tmp_path: Path) -> None:
    shell(
        tmp_path,
        'mkfifo malloc.pipe; cat malloc.pipe >copy & LD_PRELOAD="$SO" $PROGRAM 1022>malloc.pipe;'
        " wait",
    )
    assert only((tmp_path / "copy").read_bytes()).has_ended


def test_logging_to_tcp_directly_and_the_analyser(tmp_path: Path) -> None:
    analyser = Cli(tmp_path).start("log", "--json", "--listen", "0")
    with analyser:
        assert analyser.stderr
        match = re.search(r":(\d+)", analyser.stderr.readline())
        assert match
        script = f'LD_PRELOAD="$SO" $PROGRAM 1022>/dev/tcp/127.0.0.1/{match[1]}'
        assert shell(tmp_path, script) == "done\n"
        assert analyser.stdout
        document = json.loads(analyser.stdout.read())
    (process,) = document["processes"]
    assert process["totals"]["live_blocks"] == 0
    assert process["totals"]["allocations"] == 12


def test_a_pipe_and_netcat_into_the_analyser(tmp_path: Path) -> None:
    """On the computer that processes the log: `nc -l` into a pipe, `heapglass log` from it."""
    pipe = tmp_path / "malloc.pipe"
    os.mkfifo(pipe)
    netcat = f"exec nc -lnv 127.0.0.1 0 2>heard >{pipe} </dev/null"
    with (
        Cli(tmp_path).start("log", "--json", pipe) as analyser,
        subprocess.Popen(["sh", "-c", netcat], cwd=tmp_path),
    ):
        heard = tmp_path / "heard"
        until(lambda: heard.exists() and heard.read_text().endswith("\n"), "netcat listens")
        port = heard.read_text().split()[-1]
        shell(tmp_path, f'LD_PRELOAD="$SO" $PROGRAM 1022>/dev/tcp/127.0.0.1/{port}')
        assert analyser.stdout
        (process,) = json.loads(analyser.stdout.read())["processes"]
    assert process["totals"]["allocations"] == 12


def test_no_log_where_1022_is_not_open(tmp_path: Path) -> None:
    shell(tmp_path, 'LD_PRELOAD="$SO" $PROGRAM')
    assert [path.suffix for path in tmp_path.iterdir()] == [".heapglass"]


# ---- log file format


def test_the_format_of_the_text(tmp_path: Path) -> None:
    """Line by line as the text has it; ours say more behind the two numbers."""
    shell(tmp_path, 'LD_PRELOAD="$SO" $PROGRAM 1022>program.log')
    lines = (tmp_path / "program.log").read_text().splitlines()
    assert re.fullmatch(r"# PID \d+", lines[0])
    assert lines[1] == f"# EXE {Path(program('log_calls').path()).resolve()}"
    assert lines[2] == f"# CWD {tmp_path}"
    assert lines[3] == "# MAPS"
    first = next(i for i, line in enumerate(lines) if line.startswith("+"))
    assert all(re.match(r"[0-9a-f]+-[0-9a-f]+ ", line) for line in lines[4 : first - 1])
    assert re.match(r"\+ INIT \d+ 0x[0-9a-f]+", lines[first])
    entries = [line for line in lines if line.startswith("+")]
    assert all(re.match(r"\+ [\w-]+ \d+ 0x[0-9a-f]+( |$)", line) for line in entries)
    assert [line for line in lines if line.startswith("-")] == ["-"] * len(entries)
    types = {line.split()[1] for line in entries}
    assert types == {
        *("INIT", "FINI", "malloc", "calloc", "memalign", "posix_memalign", "valloc"),
        *("pvalloc", "aligned_alloc", "free", "realloc-alloc", "realloc-inplace"),
        *("realloc-realloc", "realloc-free"),
    }


def test_the_backtrace_that_was_work_in_progress(tmp_path: Path) -> None:
    shell(tmp_path, 'HEAPGLASS_LOG_STACKS=1 LD_PRELOAD="$SO" $PROGRAM 1022>program.log')
    process = only((tmp_path / "program.log").read_bytes())
    assert all(len(entry.frames) > 2 for entry in process.calls)
