"""A process in a session of its own, run to its end, or ended with all that it started there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

_REQUESTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IGNORED_BY_PYTHON = [signal.SIGPIPE, signal.SIGXFSZ]


class Streams(NamedTuple):
    """Descriptors that become the child's first ones."""

    stdin: int
    stdout: int
    stderr: int
    report: int | None = None


def run_child(
    argv: Sequence[str | bytes], environment: Mapping[bytes, bytes], streams: Streams
) -> int:
    """Its exit status; less than 0 the signal that ended it."""
    pid = 0
    try:
        # An exception between the start of the process and our knowing it would leave it behind.
        with _requests_kept_back():
            pid = _spawn(argv, environment, streams)
        _, status = os.waitpid(pid, 0)
    except BaseException:
        with _requests_kept_back():
            _end(pid)
        raise
    return os.waitstatus_to_exitcode(status)


@contextmanager
def _requests_kept_back() -> Iterator[None]:
    """Requests to end come when this is left. They are not blocked: other threads, such as those
    of a numeric library, would get them, and with them the handlers run all the same."""
    noted: list[int] = []
    handlers = {number: signal.getsignal(number) for number in _REQUESTS}
    kept = {number: h for number, h in handlers.items() if h is not signal.SIG_IGN}
    for number in kept:
        signal.signal(number, lambda number, _frame: noted.append(number))
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
        for request in noted[:1]:
            signal.raise_signal(request)


def _spawn(
    argv: Sequence[str | bytes], environment: Mapping[bytes, bytes], streams: Streams
) -> int:
    return os.posix_spawn(
        argv[0],
        list(argv),
        environment,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, mine, its) for its, mine in enumerate(streams) if mine is not None
        ],
        setsid=True,
        setsigdef=_IGNORED_BY_PYTHON,
    )


def _end(pid: int) -> None:
    """Quietly: it may have ended by itself."""
    if pid:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
