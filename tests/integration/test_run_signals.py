"""`heapglass run` between a program and who sends it signals: terminal, shell, other processes."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from harness.cli import Cli, bare

REPORT_SIGNALS = """
import signal, sys, time
seen = []
signal.signal(signal.{name}, lambda number, _: seen.append(number))
print("ready", flush=True)
end = time.monotonic() + 30
while not seen and time.monotonic() < end: time.sleep(0.01)
time.sleep(0.2)
print(*seen, flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGUSR2"])
def test_signal_sent_to_us_reaches_the_program(cli: Cli, name: str) -> None:
    process = cli.start("run", "-q", sys.executable, "-c", REPORT_SIGNALS.format(name=name))
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    number = getattr(signal, name)
    process.send_signal(number)
    out, errors = process.communicate(timeout=60)
    assert (out, errors, process.returncode) == (f"{int(number)}\n", "", 7)


def test_alarm_set_before_us_is_the_programs(cli: Cli) -> None:
    command = cli.argv("run", "-q", "sleep", "60")
    code = "import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])"
    done = bare(sys.executable, "-c", code, *command, env=cli.environment(), cwd=cli.directory)
    assert done.returncode == 128 + signal.SIGALRM


class Terminal:
    """An interactive shell on a terminal of its own, which does not echo what is typed."""

    def __init__(self, cli: Cli) -> None:
        environment = cli.environment({"PS1": "", "HISTFILE": "/dev/null"})
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(cli.directory)
            words = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
            os.execvpe("bash", words, environment)
        self._seen = ""
        self.type("stty -echo; echo set\n")
        self.expect(r"(?m)^set\r?$")

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def expect(self, pattern: str) -> None:
        """Wait for output that matches, behind what was expected before."""
        end = time.monotonic() + 30
        while not (match := re.search(pattern, self._seen)):
            readable, _, _ = select.select([self._fd], [], [], end - time.monotonic())
            assert readable, f"{pattern!r} not in {self._seen!r}"
            self._seen += os.read(self._fd, 4096).decode(errors="replace")
        self._seen = self._seen[match.end() :]

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self._pid, 0)


@pytest.fixture
def terminal(cli: Cli) -> Iterator[Terminal]:
    opened = Terminal(cli)
    yield opened
    opened.close()


def test_keys_reach_the_program_once(cli: Cli, terminal: Terminal) -> None:
    code = REPORT_SIGNALS.format(name="SIGINT")
    (cli.directory / "program.py").write_text(code)
    command = shlex.join(cli.argv("run", sys.executable, "program.py"))
    terminal.type(f"{command}; echo code=$?\n")
    terminal.expect("ready")
    terminal.type("\x03")
    terminal.expect(r"(?m)^2\r?$")
    terminal.expect("recorded in ")
    terminal.expect("code=7")


def test_job_stops_and_goes_on(cli: Cli, terminal: Terminal) -> None:
    command = shlex.join(cli.argv("run", "-q", "cat"))
    terminal.type(f"{command}; echo code=$?\n")
    terminal.type("one\n")
    terminal.expect("one")
    terminal.type("\x1a")
    terminal.expect("Stopped")
    terminal.type("fg\n")
    terminal.type("two\n")
    terminal.expect("two")
    terminal.type("\x04")
    terminal.type("echo en''ded\n")
    terminal.expect("ended")


def test_program_that_stops_itself_stops_the_job(cli: Cli, terminal: Terminal) -> None:
    command = shlex.join(cli.argv("run", "-q", "sh", "-c", "kill -STOP $$; echo awake"))
    terminal.type(f"{command}\n")
    terminal.expect("Stopped")
    terminal.type("fg\n")
    terminal.expect("awake")
