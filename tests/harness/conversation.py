"""A program that does what it is told, step by step, and its outputs between two steps."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.programs import program
from harness.running import library

PATIENCE_SECONDS = 60.0
SILENCE_SECONDS = 0.25  # of a client: then it gets the text


class Conversation:
    """With tests/programs/obedient.c, which runs in `directory`."""

    def __init__(self, process: subprocess.Popen[bytes], directory: Path) -> None:
        self.process, self.directory = process, directory

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line == b"ok\n", line

    def tell(self, *orders: str) -> None:
        """Give orders, each when the one before is done."""
        for order in orders:
            self.send(order)
            self.hear()

    def send(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(order.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, name: str, request: str | None = None) -> bytes:
        return ask(self.directory / name, request)

    def end(self, order: str = "q") -> int:
        self.send(order)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def conversation(
    directory: Path, *prefix: str, stderr: int | None = None, **environment: str
) -> Iterator[Conversation]:
    """The program under the library, which is told by these variables what to put out."""
    variables = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    variables |= {"HEAPGLASS_OUT": str(directory / "%p.%n.heapglass"), "HEAPGLASS_QUIET": "1"}
    command = [*prefix, "env", f"LD_PRELOAD={library()}", program("obedient").path()]
    with subprocess.Popen(
        command,
        cwd=directory,
        env=variables | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    ) as process:
        talk = Conversation(process, directory)
        try:
            talk.hear()
            yield talk
        finally:
            process.kill()


@contextmanager
def short_directory() -> Iterator[Path]:
    """A directory whose name leaves room for that of a socket, which is 107 bytes at most."""
    with tempfile.TemporaryDirectory(prefix="hg.") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


def ask(path: Path, request: str | None = None) -> bytes:
    """All that the socket answers; None: send nothing and wait."""
    while True:
        began = time.monotonic()
        with connected(path) as client:
            if request is None:
                return read_all(client)
            if (
                send(client, request.encode() + b"\n")
                and time.monotonic() < began + SILENCE_SECONDS
            ):
                return read_all(client)


def send(client: socket.socket, line: bytes) -> bool:
    """False: on a loaded machine it came so late that silence had been answered, with the text."""
    try:
        client.sendall(line)
    except BrokenPipeError:
        return False
    return True


def connected(path: Path) -> socket.socket:
    """A client's end."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_SECONDS)
    try:
        client.connect(str(path))
    except OSError:
        client.close()
        raise
    return client


def read_all(client: socket.socket) -> bytes:
    parts = []
    while part := client.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


def until(holds: Callable[[], object], what: str) -> None:
    """Wait for something that must come to be."""
    limit = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < limit, what
        time.sleep(0.01)
