"""`heapglass run --fail`: the exit code of a program that leaked, and of one that did not."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from harness.cli import Cli, only

if TYPE_CHECKING:
    from pathlib import Path

# Prints, so that the C library keeps a buffer, and leaks so many blocks of 1,000 bytes.
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <unistd.h>
static void *volatile lost;
int main(int argc, char **argv) {
    printf("working\\n");
    fflush(stdout);
    free(malloc(10));
    for (int n = 0; n < atoi(argv[1]); n++) lost = malloc(1000);
    lost = NULL;
    if (argc > 3) execl(argv[0], argv[0], argv[3], argv[2], NULL);
    int status = atoi(argv[2]);
    if (status < 0) kill(getpid(), -status);
    return status;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("fail")
    (directory / "program.c").write_text(PROGRAM)
    command = ["gcc", "-O1", "-g", "program.c", "-o"]
    subprocess.run([*command, "program"], cwd=directory, check=True)
    subprocess.run([*command, "static", "-static"], cwd=directory, check=True)
    return directory


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("0", "0"), 0),
        (("3", "0"), 1),
        (("3", "7"), 7),
        (("0", "7"), 7),
        (("3", "-9"), 128 + 9),
        (("3", "0", "0"), 0),  # it becomes another program, which does not leak
        (("0", "0", "3"), 1),
    ],
)
def test_the_exit_code_says_whether_it_leaked(
    built: Path, cli: Cli, words: tuple[str, ...], code: int
) -> None:
    done = cli("run", "-q", "--fail", "-o", "x.heapglass", built / "program", *words)
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("working\n")
    verdict = "heapglass: the program leaked 2.9 KiB in 3 blocks from 1 site; see: heapglass leaks "
    if code == 1:
        assert done.stderr.startswith(verdict)
        name = done.stderr.removeprefix(verdict).strip()
        assert cli("leaks", "--fail", name).returncode == 1
    else:
        assert done.stderr == ""


def test_it_goes_with_the_list_of_what_is_live(built: Path, cli: Cli) -> None:
    done = cli("run", "--leaks", "--fail", built / "program", "3", "0")
    assert done.returncode == 1
    assert "still live at the exit of" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.endswith(f"see: heapglass leaks {only(cli.recordings()).name}")
    assert cli("run", "--leaks", built / "program", "3", "0").returncode == 0


def test_a_packed_recording_is_judged_as_well(built: Path, cli: Cli) -> None:
    for blocks, code in (("0", 0), ("3", 1)):
        name = f"{blocks}.heapglass"
        done = cli("run", "-q", "--fail", "--pack", "-o", name, built / "program", blocks, "0")
        assert done.returncode == code, done.stderr
        assert cli("leaks", "--fail", name).returncode == code


def test_what_was_not_recorded_is_no_success(built: Path, cli: Cli) -> None:
    done = cli("run", "-q", "--fail", built / "static", "3", "0")
    assert (done.returncode, done.stdout) == (125, "working\n")
    unknown = "heapglass: whether the program leaked is not known: it was not recorded\n"
    assert done.stderr.endswith(unknown)
    done = cli("run", "-q", "--fail", "-o", "none", built / "program", "0", "0")
    assert (done.returncode, done.stdout, done.stderr) == (125, "working\n", unknown)
    done = cli("run", "-q", "--fail", built / "static", "3", "5")
    assert done.returncode == 5
    done = cli("run", "--fail=yes", built / "program", "3", "0")
    assert (done.returncode, done.stdout) == (125, "")
