"""A program under heapglass that waits to have its core taken, and the cores taken of it."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from harness.programs import program
from harness.running import TIMEOUT_SECONDS, library

_PATTERN = Path("/proc/sys/kernel/core_pattern")


@dataclass(frozen=True, slots=True)
class Kept:
    """A block as the program itself knows it."""

    asked: int
    usable: int
    site: str


@dataclass(frozen=True, slots=True)
class Truth:
    """What the program says of its heap; `free_bytes` and `mapped` are mallinfo2's."""

    blocks: dict[int, Kept]
    free_bytes: int
    mapped: int


class Waiting:
    """A program of tests/programs that obeys the lines of its input."""

    def __init__(self, argv: Sequence[str], directory: Path, **environment: str) -> None:
        self.directory = directory
        self.recording = directory / "waiting.heapglass"
        settings = {"HEAPGLASS_OUT": str(self.recording), "LD_PRELOAD": library(), **environment}
        self._process = subprocess.Popen(
            argv,
            cwd=directory,
            env=os.environ | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        # Limits are inherited; raised for this one only.
        resource.prlimit(self.pid, resource.RLIMIT_CORE, (-1, -1))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        return self._process.pid

    def line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().rstrip("\n")

    def ask(self, command: str) -> list[str]:
        """The lines that it answers with."""
        self.tell(command)
        return list(iter(self.line, "end"))

    def tell(self, command: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def truth(self) -> Truth:
        words = [line.split() for line in self.ask("list")]
        sums = {name: int(value) for name, value in (word for word in words if len(word) == 2)}
        blocks = {
            int(word[1], 16): Kept(int(word[2]), int(word[3]), word[4])
            for word in words
            if word[0] == "block"
        }
        return Truth(blocks, sums["free"], sums["mapped"])

    def gcore(self, name: str = "app.dump") -> Path:
        done = subprocess.run(
            ["gcore", "-o", str(self.directory / name), str(self.pid)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        core = self.directory / f"{name}.{self.pid}"
        assert core.exists(), done.stdout + done.stderr
        return core

    def crash(self) -> Path:
        """The kernel's core where it writes one beside the program; else gdb's, of the same
        moment and with the same signal."""
        if not kernel_dumps_here():
            return self.dump_when_stopped("crash", ends_with="kill")
        self.tell("crash")
        self._process.wait(TIMEOUT_SECONDS)
        cores = sorted(self.directory.glob("core*"))
        assert len(cores) == 1, cores
        return cores[0]

    def dump_when_stopped(self, command: str, *before: str, ends_with: str = "detach") -> Path:
        """The core that gdb writes where it stops in the command: at a signal, or a breakpoint that
        is set before."""
        core = self.directory / "core"
        commands = [*before, "continue", f"generate-core-file {core}", ends_with]
        words = [word for command in commands for word in ("-ex", command)]
        with subprocess.Popen(
            ["gdb", "-q", "-nx", "-batch", *words, "-p", str(self.pid)], stdout=subprocess.DEVNULL
        ) as debugger:
            while not self._is_traced() and debugger.poll() is None:
                time.sleep(0.01)
            self.tell(command)
            debugger.wait(TIMEOUT_SECONDS)
        return core

    def _is_traced(self) -> bool:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return "TracerPid:\t0\n" not in status


def kernel_dumps_here() -> bool:
    """Whether the core of a crash is written into the directory of the program."""
    return _PATTERN.read_text().strip() == "core"


def waiting(directory: Path, threads: int = 0, **environment: str) -> Waiting:
    """The program `cores`, its heap made."""
    return Waiting([program("cores").path(), str(threads)], directory, **environment)
