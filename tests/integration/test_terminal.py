"""What a terminal gets, and what a pipe gets that ends at one: width, callers, escape sequences."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from harness.cli import TIMEOUT_SECONDS, Cli

WRAPPED = """
#include <stdlib.h>
__attribute__((noipa)) void *zmalloc(size_t size) { void *p = malloc(size); return p; }
#define CALLER(name) __attribute__((noipa)) void name(void) { ((char *)zmalloc(1000))[0] = 1; }
CALLER(load_the_configuration_from_the_file)
CALLER(accept_a_connection)
CALLER(insert_into_the_inverted_index)
int main(void) {
    for (int i = 0; i < 9; i++) {
        load_the_configuration_from_the_file();
        accept_a_connection();
        insert_into_the_inverted_index();
    }
}
"""
CALLERS = (
    "load_the_configuration_from_the_file",
    "accept_a_connection",
    "insert_into_the_inverted_index",
)
COMMANDS = (["table", "x.heapglass"], ["leaks", "x.heapglass"])


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Of a program whose every allocation goes through a wrapper."""
    directory = tmp_path_factory.mktemp("terminal")
    (directory / "wrapped.c").write_text(WRAPPED)
    command = ["gcc", "-O1", "-g", "-fno-optimize-sibling-calls", "wrapped.c", "-o", "wrapped"]
    subprocess.run(command, cwd=directory, check=True)
    cli = Cli(directory)
    done = cli("run", "-q", "-o", "x.heapglass", "./wrapped")
    assert done.returncode == 0, done.stderr
    return cli


def in_terminal(show: Cli, columns: int, shell: str, **environment: str) -> str:
    """What a terminal of so many columns gets of a shell's line, `$HG` being heapglass."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    settings = show.environment({"HG": f"{sys.executable} -m heapglass", "TERM": "xterm"})
    del settings["COLUMNS"]
    settings.pop("NO_COLOR", None)
    with subprocess.Popen(
        ["setsid", "--ctty", "--wait", "bash", "-c", shell],
        cwd=show.directory,
        env=settings | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            text = read_all(terminal.fileno())
        assert process.wait(TIMEOUT_SECONDS) == 0, text
    return text.replace("\r\n", "\n")


def read_all(descriptor: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(descriptor, 1 << 16)
        except OSError:  # EIO: nobody has it open any more
            break
        if not piece:
            break
        pieces.append(piece)
    return b"".join(pieces).decode()


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_wrapper_is_followed_by_who_called_it(
    show: Cli, command: list[str], columns: int
) -> None:
    words = " ".join(command)
    seen = in_terminal(show, columns, f"$HG {words} --no-color")
    piped = in_terminal(show, columns, f"$HG {words} | cat")
    for text in (seen, piped, show(*command).stdout):
        assert text.count("zmalloc") >= 3
        for caller in CALLERS:
            assert f"← {caller} ← main" in text


def test_a_pipe_is_as_wide_as_the_terminal_behind_it(show: Cli) -> None:
    for columns in (70, 130):
        for hidden in ("", "2>/dev/null", "2>/dev/null </dev/null"):
            text = in_terminal(show, columns, f"$HG flamegraph x.heapglass {hidden} | cat")
            assert max(map(len, text.splitlines())) == columns
    text = in_terminal(show, 70, "$HG flamegraph x.heapglass | cat", COLUMNS="90")
    assert max(map(len, text.splitlines())) == 90
    text = in_terminal(show, 70, "$HG flamegraph --width 99 x.heapglass | cat", COLUMNS="90")
    assert max(map(len, text.splitlines())) == 99


def test_without_any_terminal_there_are_a_hundred_columns(show: Cli) -> None:
    done = subprocess.run(
        show.argv("flamegraph", "x.heapglass"),
        cwd=show.directory,
        env={name: value for name, value in show.environment().items() if name != "COLUMNS"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=True,
    )
    assert max(map(len, done.stdout.splitlines())) == 100


def test_grep_finds_every_name(show: Cli) -> None:
    for caller in CALLERS:
        assert caller in in_terminal(show, 60, f"$HG leaks x.heapglass | grep -- '← {caller}'")


@pytest.mark.parametrize(
    ("option", "environment"), [("--no-color", {}), ("", {"NO_COLOR": "1"})], ids=["option", "env"]
)
@pytest.mark.parametrize(
    "command",
    [
        *("summary", "table", "table --stacks", "tree", "flamegraph", "timeline", "sizes", "ages"),
        *("threads", "leaks", "diff x.heapglass", "doctor", "doctor --help"),
    ],
)
def test_without_colour_no_escape_is_written(
    show: Cli, command: str, option: str, environment: dict[str, str]
) -> None:
    words, _, more = command.partition(" ")
    shell = f"$HG {words} {more} {option} x.heapglass"
    assert "\x1b" not in in_terminal(show, 90, shell, **environment)


def test_progress_is_told_without_escapes(show: Cli) -> None:
    """On a terminal, where a line on standard error comes and goes."""
    bench = "$HG bench --no-color --quick --rounds 1 --sizes 16 --depths 1"
    text = in_terminal(show, 90, bench)
    assert "\r1 of " in text
    assert "\x1b" not in text


def test_a_terminal_has_colour(show: Cli) -> None:
    assert "\x1b[36m" in in_terminal(show, 90, "$HG table x.heapglass")


def test_documents_have_no_width(show: Cli) -> None:
    for command in COMMANDS:
        narrow, wide = (
            show(*command, "--json", environment={"COLUMNS": columns}).stdout
            for columns in ("60", "200")
        )
        assert narrow == wide
