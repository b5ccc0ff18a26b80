"""`heapglass run --pack`: what was recorded is left packed, and read as before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.bench import opened
from harness.cli import Cli, only
from harness.programs import program
from heapglass.cli import pack
from heapglass.cli.progress import SlowLine
from heapglass.errors import ExportError
from heapglass.packfile.container import is_packed
from heapglass.recording import open_recording

READERS = [
    ("summary",),
    ("table",),
    ("tree",),
    ("flamegraph",),
    ("timeline",),
    ("sizes",),
    ("ages",),
    ("threads",),
    ("leaks",),
    ("doctor",),
    ("report", "-o", "page.html"),
    ("export", "-F", "json", "-o", "out.json"),
]


def document(cli: Cli, path: Path) -> dict[str, Any]:
    done = cli("table", "--json", path)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_recording_is_left_packed(cli: Cli) -> None:
    done = cli("run", "--pack", "-o", "x.heapglass", *program("leaks").argv(("50",)))
    assert (done.returncode, done.stdout) == (6, "done\n")
    (path,) = cli.directory.iterdir()
    assert path.name == "x.heapglass"
    assert is_packed(path)
    assert path.stat().st_mode & 0o777 == 0o600
    last = done.stderr.splitlines()[-1]
    assert last.startswith("heapglass: packed: ")
    assert ", from " in last
    source = open_recording(path)
    assert (source.totals.allocations, source.process.exit_status) == (51, 6)
    sites = document(cli, path)["sites"]
    assert sum("site_leak" in str(site) for site in sites) == 51


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_every_reader_takes_it(cli: Cli, words: tuple[str, ...]) -> None:
    cli("run", "-q", "--pack", "-o", "x.heapglass", *program("leaks").argv(("5",)))
    done = cli(*words, "x.heapglass")
    assert done.returncode == 0, done.stderr


def test_those_of_children_too(cli: Cli) -> None:
    done = cli("run", "--pack", "bash", "-c", "ls; (exec ls); bash -c 'kill -9 $$'; kill -9 $$")
    assert done.returncode == 128 + 9
    assert all(is_packed(path) for path in cli.recordings())
    states = {source.process.state.value for source in opened(cli.directory)}
    assert states == {"exec", "exited", "killed", "signaled"}


def test_a_packed_recording_is_replaced_by_force_only(cli: Cli) -> None:
    for force in ((), ("-f",)):
        cli("run", "-q", *force, "--pack", "-o", "x", "ls")
        path = only(list(cli.directory.iterdir()))
        assert is_packed(path)
    assert cli("run", "--pack", "-o", "x", "ls").returncode == 125


def test_what_still_runs_is_left_as_it_is(cli: Cli) -> None:
    """Its process goes on writing it."""
    waits = "import os,time\nopen('pid','w').write(str(os.getpid()))\ntime.sleep(600)"
    child = f'{sys.executable} -c "{waits}" >/dev/null 2>&1'
    done = cli("run", "--pack", "sh", "-c", f"({child} &); until [ -s pid ]; do sleep 0.1; done")
    pid = int((cli.directory / "pid").read_text())
    try:
        assert "are not packed" in done.stderr
        (left,) = (path for path in cli.recordings() if not is_packed(path))
        assert open_recording(left).process.pid == pid
    finally:
        os.kill(pid, 9)


def test_none_cannot_be_packed(cli: Cli) -> None:
    done = cli("run", "--pack", "-o", "none", "touch", "started")
    assert done.returncode == 125
    assert "--pack is for recordings" in done.stderr
    assert list(cli.directory.iterdir()) == []


INTERRUPTED = """
import os, signal, sys
from heapglass.launch.launcher import launch
from heapglass.launch.options import RunOptions
from heapglass.launch.process import interruptible

def pack(pid, paths, tell):
    try:
        with interruptible():
            print("packing", len(paths), flush=True)
            os.kill(os.getpid(), signal.{name})
            signal.pause()
    except KeyboardInterrupt:
        print("stopped", flush=True)

command = ("sh", "-c", "trap '' INT TERM HUP; kill -{number} $PPID; ls >/dev/null; exit 3")
os._exit(launch(RunOptions(command, is_quiet=True), pack))
"""


@pytest.mark.parametrize(("name", "number"), [("SIGINT", 2), ("SIGTERM", 15), ("SIGHUP", 1)])
def test_a_signal_ends_the_packing_but_none_that_was_the_programs(
    cli: Cli, name: str, number: int
) -> None:
    script = INTERRUPTED.replace("{name}", name).replace("{number}", str(number))
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=cli.directory,
        env=cli.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, "packing 2\nstopped\n")


@pytest.fixture
def recordings(cli: Cli) -> list[str]:
    for name in "abc":
        cli("run", "-q", "-o", name, "ls")
    return [str(cli.directory / name) for name in "abc"]


@pytest.mark.parametrize(
    ("problem", "packed", "words"),
    [
        (ExportError("it cannot be written: No space left"), [1, 0, 1], "b is left unpacked: it"),
        (MemoryError(), [1, 0, 1], "b is left unpacked: not enough memory"),
        (KeyboardInterrupt(), [1, 0, 0], "b is left unpacked, and what comes behind it"),
    ],
)
def test_what_cannot_be_packed_stays_as_it_is(
    recordings: list[str],
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    packed: list[int],
    words: str,
) -> None:
    really: Callable[..., None] = pack.pack

    def fail_at_second(source: str, *rest: Any) -> None:
        if source == recordings[1]:
            raise problem
        really(source, *rest)

    monkeypatch.setattr(pack, "pack", fail_at_second)
    said: list[str] = []
    pack.pack_in_place(recordings, said.append, SlowLine())
    assert [is_packed(path) for path in recordings] == list(map(bool, packed))
    assert words in said[0]
    assert said[-1].startswith("packed: ")
    assert all(open_recording(path).totals.allocations > 0 for path in recordings)
