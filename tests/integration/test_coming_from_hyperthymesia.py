"""The walkthrough of hyperthymesia's text, its commands run as they stand there.

Only the path of the library and the names of programs differ.
docs/promises.md lists which test shows what.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.conversation import short_directory, until
from harness.live_text import Stack, parse, with_symbol
from harness.programs import SOURCES, compiled
from harness.running import library

SOURCE = SOURCES / "leaking.c"
TEXTS_SIZES = [8, 16, 256, 512, 4096, 16384]


@contextmanager
def your_app(*flags: str) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """`HT_SOCKET=… LD_PRELOAD=… ./test_leak`, from a shell."""
    with short_directory() as place:
        (place / "test_leak").symlink_to(compiled(SOURCE, *flags))
        command = f"HT_SOCKET={place}/ht.sock LD_PRELOAD={library()} exec ./test_leak"
        with subprocess.Popen(["sh", "-c", command], cwd=place, stdout=subprocess.PIPE) as process:
            try:
                until((place / "ht.sock").is_socket, "the socket is there")
                yield place, process
            finally:
                process.kill()


def obtained(place: Path) -> list[Stack]:
    """`nc -U /tmp/ht.sock`."""
    done = subprocess.run(
        ["nc", "-U", place / "ht.sock"], capture_output=True, check=True, stdin=subprocess.DEVNULL
    )
    return parse(done.stdout)


def leaked(place: Path) -> Stack | None:
    found = with_symbol(obtained(place), "site_parent_routine")
    return found[0] if found and (found[0].allocs, found[0].free) == (100, 61) else None


@pytest.mark.parametrize("flags", [("-fno-omit-frame-pointer",), ("-fomit-frame-pointer",)])
def test_the_table_is_on_the_socket(flags: tuple[str, ...]) -> None:
    with your_app(*flags) as (place, _):
        until(lambda: leaked(place), "allocs = 100 free = 61")
        stack = leaked(place)
        assert stack
        assert stack.total_size == 3900
        assert [frame.symbol for frame in stack.frames[:4]] == [
            *("site_inner", "site_outer", "site_parent_routine", "main")
        ]
        buffer = with_symbol(obtained(place), "_IO_file_doallocate")
        assert [(s.allocs, s.free) for s in buffer] == [(1, 0)]
        assert [frame.symbol for frame in buffer[0].frames[:4]] == [
            *("_IO_file_doallocate", "_IO_doallocbuf", "_IO_file_overflow", "_IO_file_xsputn")
        ]


@pytest.mark.parametrize("is_kept", [False, True])
def test_sibling_calls_hide_frames_unless_they_are_kept(*, is_kept: bool) -> None:
    """A function that ends with a call of another is gone when that runs."""
    flags = ("-fno-optimize-sibling-calls",) if is_kept else ("-foptimize-sibling-calls",)
    with short_directory() as place:
        app = compiled(SOURCES / "sibling_calls.c", "-O2", *flags)
        command = ["sh", "-c", f"HT_SOCKET={place}/ht.sock LD_PRELOAD={library()} exec {app}"]
        with subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE) as process:
            until(lambda: (place / "ht.sock").is_socket() and blocks(place, 777), "the table")
            [stack] = blocks(place, 777)
            assert process.stdin
            process.stdin.close()
    symbols = [frame.symbol for frame in stack.frames]
    assert symbols[:3] == ["site_inner", "site_ending" if is_kept else "main", symbols[2]]


def blocks(place: Path, size: int) -> list[Stack]:
    return [stack for stack in obtained(place) if stack.total_size == size]


def test_the_first_process_has_the_name_and_with_its_id_each() -> None:
    with short_directory() as place:
        app = compiled(SOURCES / "sibling_calls.c", "-O2")
        plain, with_id = (
            f"HT_SOCKET={place}/{name} LD_PRELOAD={library()} sh -c '{app}; true'"
            for name in ("ht.sock", "%p.sock")
        )
        with (
            subprocess.Popen(["sh", "-c", plain], cwd=place, stdin=subprocess.PIPE) as first,
            subprocess.Popen(["sh", "-c", with_id], cwd=place, stdin=subprocess.PIPE) as second,
        ):
            until(lambda: len(list(place.glob("*.sock*"))) == 4, "two sockets of each")
            names = [path.name for path in place.glob("*.sock*")]
            assert first.stdin
            assert second.stdin
            first.stdin.close()
            second.stdin.close()
    kinds = sorted(re.sub(r"\d+", "PID", name) for name in names)
    assert kinds == ["PID.sock", "PID.sock", "ht.sock", "ht.sock.PID"]


def test_its_lines_are_commands_that_find_the_source() -> None:
    with your_app() as (place, _):
        until(lambda: leaked(place), "the table is complete")
        text = subprocess.run(
            ["nc", "-U", place / "ht.sock"],
            capture_output=True,
            text=True,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout
    lines = [line for line in text.splitlines() if line.endswith(("site_inner", "site_outer"))]
    source = SOURCE.read_text().splitlines()
    found = set()
    for line in lines:
        # The symbol's name is taken for one more address, which is not there: ??:0.
        answer = subprocess.run(
            ["sh", "-c", line], capture_output=True, text=True, check=False
        ).stdout.splitlines()[0]
        assert "leaking.c:" in answer, line
        found.add(source[int(answer.rpartition(":")[2].split()[0]) - 1].strip())
    assert found == {"void *p = malloc(100);", "void *p = site_inner();"}


def test_the_application_is_not_stopped() -> None:
    with your_app() as (place, process):
        assert process.stdout is not None
        for _ in range(5):
            assert obtained(place)
            for _ in range(3):
                assert process.stdout.readline() in (b"still running\n", b"leaking\n")
        assert process.poll() is None


def as_json(place: Path) -> bytes:
    """`echo json | nc -U /tmp/ht.sock`."""
    command = ["nc", "-U", place / "ht.sock"]
    return subprocess.run(command, input=b"json\n", capture_output=True, check=True).stdout


def test_the_later_versions_table_is_json() -> None:
    with your_app() as (place, _):
        until(lambda: leaked(place), "the table is complete")
        answers = [as_json(place)]
        while not answers[-1].startswith(b"{"):  # on a loaded machine the request may come too late
            answers.append(as_json(place))
    document = json.loads(answers[-1])
    assert document.keys() >= {"version", "allocs", "allocation_stacks", "buckets"}
    [row] = [row for row in document["allocs"] if row["size"] == 3900]
    assert row.keys() == {"bt", "allocs", "free", "size_human", "size"}
    assert (row["allocs"], row["free"]) == (100, 61)


def test_performance_is_shown_for_each_size() -> None:
    command = [sys.executable, "-m", "heapglass", "bench", "--quick", "--json"]
    sizes = ["--sizes", ",".join(map(str, TEXTS_SIZES)), "--depths", "5"]
    done = subprocess.run(
        [*command, *sizes], capture_output=True, check=True, env={**os.environ, "NO_COLOR": "1"}
    )
    rows = {(c["operation"], c["size"]): c["ns"] for c in json.loads(done.stdout)["costs"]}
    for operation in ("malloc", "realloc"):
        for size in TEXTS_SIZES:
            cost = {mode["mode"]: mode for mode in rows[operation, size]}
            assert cost["plain"]["least"] > 0
            assert cost["exact"]["ratio_spread"].keys() == {"least", "median", "most"}
