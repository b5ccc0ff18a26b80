"""Where a log comes from: a file, a pipe, or a TCP connection; plain, gzip or zstd."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from types import FrameType
from typing import BinaryIO, Self

from heapglass.errors import LogError

BLOCK = 1 << 20  # bytes read at a time: what comes out of it fits a processor's cache
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
Handler = Callable[[int, FrameType | None], object] | int | None  # of a signal
_GZIP_BITS = 31  # zlib's word for: the largest window, in gzip's frame


class LogInput:
    """Blocks of the log's text; `complaint` says afterwards why there are no more, if they ended
    before their time. Closes its stream, and calls `closing`, when it is left."""

    def __init__(
        self, name: str, stream: BinaryIO, closing: Callable[[], None] | None = None
    ) -> None:
        self.name = name
        self.complaint = ""
        self._stream = stream
        self._closing = closing

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        if self._closing is not None:
            self._closing()

    def __iter__(self) -> Iterator[bytes]:
        first = self._stream.read(BLOCK)
        blocks = self._blocks(first)
        if first.startswith(_GZIP):
            return self._gunzip(blocks)
        if first.startswith(_ZSTD):
            return self._unzstd(blocks)
        return blocks

    def _blocks(self, first: bytes) -> Iterator[bytes]:
        block = first
        while block:
            yield block
            block = self._stream.read(BLOCK)

    def _gunzip(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Any number of gzip files, one behind the other."""
        unpacker = zlib.decompressobj(_GZIP_BITS)
        for block in blocks:
            data = block
            while data:
                if unpacker.eof:
                    unpacker = zlib.decompressobj(_GZIP_BITS)
                try:
                    yield unpacker.decompress(data, 4 * BLOCK)
                except zlib.error:
                    self.complaint = "the compressed data is damaged from here on"
                    return
                data = unpacker.unconsumed_tail or unpacker.unused_data
        if not unpacker.eof:
            self.complaint = "the compressed data ends here before its end"

    def _unzstd(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """By the program of that name: Python has no such module before 3.14."""
        program = shutil.which("zstd")
        if program is None:
            raise LogError(f"{self.name} is compressed with zstd: install the program 'zstd'")
        with subprocess.Popen(
            [program, "-dcq"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as child:
            assert child.stdin is not None  # noqa: S101 (as asked for)
            assert child.stdout is not None  # noqa: S101
            feeder = threading.Thread(target=_feed, args=(child.stdin, blocks), daemon=True)
            feeder.start()
            while block := child.stdout.read(BLOCK):
                yield block
            feeder.join()
            if child.wait() != 0:
                self.complaint = "the compressed data is damaged, or ends here before its end"


def _feed(pipe: BinaryIO, blocks: Iterator[bytes]) -> None:
    # It may have seen enough.
    with contextlib.suppress(BrokenPipeError), pipe:
        pipe.writelines(blocks)


def open_log(path: str) -> LogInput:
    """`-` is the standard input."""
    if path == "-":
        if sys.stdin is None:
            raise LogError("there is nothing to read: the standard input is closed")
        return LogInput("standard input", sys.stdin.buffer)
    try:
        if os.path.isdir(path):
            raise LogError(f"{path} is a directory, not a log")
        return LogInput(path, open(path, "rb"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise LogError(f"{path} cannot be opened: {reason}") from None


def parse_endpoint(text: str) -> tuple[str, int]:
    """HOST:PORT, :PORT or PORT; without a host the loopback interface. ValueError says why not."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ValueError(f"'{text}' is no HOST:PORT, such as localhost:4000")
    return host.strip("[]") or "127.0.0.1", int(port)


def receive_log(host: str, port: int, tell: Callable[[str], None]) -> LogInput:
    """From one connection to this address, until its other side closes it or SIGINT comes. `tell`
    is given a sentence when connections are taken, and when one has come."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.create_server((host, port), family=family, backlog=1) as server:
            own = server.getsockname()
            tell(f"waiting for a log on {own[0]}:{own[1]}")
            connection, peer = server.accept()
    except OSError as error:
        reason = error.strerror or error
        raise LogError(f"cannot listen on {host}:{port}: {reason}") from None
    before = _end_on_interrupt(connection)
    tell(f"receiving from {peer[0]}:{peer[1]}; Ctrl-C ends it")

    def close() -> None:
        signal.signal(signal.SIGINT, before)
        connection.close()

    return LogInput(f"{peer[0]}:{peer[1]}", connection.makefile("rb"), close)


def _end_on_interrupt(connection: socket.socket) -> Handler:
    """What came so far is worth a report. Gives the handler there was before."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RD)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    return signal.signal(signal.SIGINT, end)
