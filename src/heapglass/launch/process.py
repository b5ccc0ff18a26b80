"""The recorded process: started as if by the shell, waited for, signals handed on.

The launcher must not be felt. The program keeps its terminal, process group, signal mask and
dispositions, but for two (see `_restore_signals`); what is sent to the launcher alone reaches it.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from heapglass.errors import LaunchError
from heapglass.tuples import NamedTuple

# Never handed on: they cannot be caught, stop the whole job anyway, or are about ourselves.
_OURS = {
    signal.SIGKILL,
    signal.SIGSTOP,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGCONT,
    signal.SIGSEGV,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGSYS,
    signal.SIGABRT,
    signal.SIGPIPE,
}
_AWAITED = {s for s in signal.valid_signals() if s not in _OURS}
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_MOMENT_S = 0.02
_LOOK_AGAIN_S = 1.0  # another thread of ours, if there is one, may have been told of the end
_SI_USER_MOST = 0  # from a process: SI_USER (0), SI_QUEUE, SI_TKILL, ... are not positive


class Ending(NamedTuple):
    """How the program ended: by `signal` if that is not 0."""

    status: int
    signal: int

    @property
    def exit_code(self) -> int:
        return 128 + self.signal if self.signal else self.status


class RecordedProcess:
    """Starts on creation. From then on signals to the launcher wait for `wait()`, and after it
    for ever: a ^C that ends the program must not end the launcher before its last lines."""

    def __init__(
        self, path: str, argv: tuple[str, ...], environment: Mapping[bytes, bytes]
    ) -> None:
        # An inherited "ignore" would have the kernel throw the exit status away.
        ignores_children = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
        reader, writer = os.pipe()  # closed by a successful exec
        self.pid = _fork()
        if self.pid == 0:
            try:
                _restore_signals(mask, ignores_children=ignores_children)
                os.execve(path, argv, environment)
            except OSError as error:
                os.write(writer, b"%d" % (error.errno or errno.EINVAL))
            finally:
                os._exit(127)
        os.close(writer)
        with open(reader, "rb") as pipe:
            failure = pipe.read()
        if failure:
            os.waitpid(self.pid, 0)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            raise _start_error(argv[0], int(failure))

    def wait(self, meanwhile: Callable[[], object]) -> Ending:
        """Until the program has ended; job control works as without us in between. `meanwhile` is
        called once, when the program has run a moment."""
        arrived = signal.sigtimedwait(_AWAITED, _MOMENT_S)
        if arrived is None:
            meanwhile()
        while (ending := self._attend(arrived)) is None:
            arrived = signal.sigtimedwait(_AWAITED, _LOOK_AGAIN_S)
        return ending

    def _attend(self, arrived: signal.struct_siginfo | None) -> Ending | None:
        if arrived and arrived.si_signo != signal.SIGCHLD:
            self._hand_on(arrived)
            return None
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid and os.WIFSTOPPED(status):
            self._stop_too()
        elif pid:
            return _ending(status)
        return None

    def _hand_on(self, arrived: signal.struct_siginfo) -> None:
        """What the kernel sends (the terminal's ^C, a hang-up) the program gets itself. Of what
        a process sends, it gets again what went to the whole process group: nothing tells the two
        apart. An alarm set before us is the program's: timers do not pass to a child."""
        if arrived.si_code <= _SI_USER_MOST or arrived.si_signo == signal.SIGALRM:
            self._send(arrived.si_signo)

    def _send(self, number: int) -> None:
        with suppress(PermissionError):  # it has become another user's
            os.kill(self.pid, number)

    def _stop_too(self) -> None:
        """Let the shell see that its foreground job has stopped."""
        if not _is_foreground():
            return
        time.sleep(0.01)  # a job being continued is continued one process after the other
        if _state(self.pid) == "T":
            os.kill(os.getpid(), signal.SIGSTOP)
            self._send(signal.SIGCONT)


@contextmanager
def interruptible() -> Iterator[None]:
    """For long work when the program has ended: what would end us raises KeyboardInterrupt there.
    What came before was the program's."""
    ending = {s for s in _ENDING if signal.getsignal(s) != signal.SIG_IGN}
    while signal.sigtimedwait(ending, 0):
        pass
    for number in ending:
        signal.signal(number, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, ending)


def _fork() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise LaunchError(f"no process can be started: {error.strerror}") from None


def _restore_signals(mask: set[int], *, ignores_children: bool) -> None:
    """Undo, in the child, what the interpreter did to signals at its start, and what we did since.

    What SIGPIPE and SIGXFSZ were before, nobody can tell: the interpreter sets both before it runs
    any code of ours, and that the parent ignores them does not mean that we inherited it (Python's
    subprocess, systemd's IgnoreSIGPIPE=no). A program that would have had them ignored gets the
    default.
    """
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    # Its handler would swallow a ^C that comes before the exec.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if ignores_children:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _start_error(name: str, number: int) -> LaunchError:
    if number == errno.ENOENT:
        return LaunchError(f"{name} cannot be run: its interpreter or loader is missing", 127)
    return LaunchError(f"{name} cannot be run: {os.strerror(number)}", 126)


def _ending(status: int) -> Ending:
    if os.WIFSIGNALED(status):
        return Ending(0, os.WTERMSIG(status))
    return Ending(os.WEXITSTATUS(status), 0)


def _is_foreground() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""
