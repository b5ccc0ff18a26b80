"""Running a program in a directory of its own, bare or under the library, and what came of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from heapglass.launch.library import library_path

TIMEOUT_SECONDS = 120
_KEPT = ("HOME", "PATH", "TMPDIR", "USER")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What anyone outside the program can see of a run."""

    status: int  # negative: the signal that ended it
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class Setting:
    """How a run differs from the ordinary one."""

    environment: Mapping[str, str] = field(default_factory=dict)
    preload: Sequence[str] = ()  # in front of what the environment may name
    stdin: bytes = b""
    pass_fds: tuple[int, ...] = ()
    prefix: Sequence[str] = ()  # words in front of the command, run without the preload


def library() -> str:
    """The library under test; HEAPGLASS_TEST_LIBRARY names another build of it."""
    return os.environ.get("HEAPGLASS_TEST_LIBRARY") or library_path()


def under_heapglass(**environment: str) -> Setting:
    return Setting(environment={"HEAPGLASS_QUIET": "1", **environment}, preload=[library()])


def bare_setting(setting: Setting) -> Setting:
    """The same without heapglass."""
    return replace(setting, preload=[path for path in setting.preload if path != library()])


def run(argv: Sequence[str], directory: Path, setting: Setting | None = None) -> Outcome:
    setting = setting or Setting()
    directory.mkdir(parents=True, exist_ok=True)
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"LC_ALL": "C.UTF-8", **setting.environment}
    preload = {"LD_PRELOAD": ":".join(setting.preload)} if setting.preload else {}
    if setting.prefix:
        argv = [*setting.prefix, "env", *(f"{k}={v}" for k, v in preload.items()), *argv]
    else:
        environment |= preload
    done = subprocess.run(
        argv,
        cwd=directory,
        env=environment,
        input=setting.stdin,
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        pass_fds=setting.pass_fds,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def split_lines(outcome: Outcome) -> tuple[list[bytes], Outcome]:
    """Our own lines on stderr, and the outcome without them."""
    lines = outcome.stderr.splitlines(keepends=True)
    ours = [line for line in lines if line.startswith(b"heapglass: ")]
    theirs = b"".join(line for line in lines if line not in ours)
    return ours, replace(outcome, stderr=theirs)


def is_started(recording: Path) -> bool:
    """False while the recording is still being set up: it gets its magic last."""
    if not recording.exists():
        return False
    with recording.open("rb") as file:
        return file.read(1) == b"h"
