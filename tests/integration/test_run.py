"""`heapglass run` as the program meets it: it is left alone."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys

import pytest

from harness.cli import Cli, bare

STATUS = "import re; print(*re.findall(r'Sig(?:Blk|Ign|Cgt):.*', open('/proc/self/status').read()))"


@pytest.mark.parametrize("code", [0, 1, 3, 125, 255])
def test_exit_code_is_the_programs(cli: Cli, code: int) -> None:
    assert cli("run", "sh", "-c", f"exit {code}").returncode == code


@pytest.mark.parametrize("name", ["TERM", "KILL", "SEGV"])
def test_signal_gives_128_and_its_number(cli: Cli, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    assert cli("run", "sh", "-c", f"ulimit -c 0; kill -{name} $$").returncode == 128 + number


@pytest.mark.parametrize(
    ("command", "code"), [("./missing", 127), ("missing-too", 127), ("/", 126), ("./plain", 126)]
)
def test_program_that_does_not_start_is_told_apart(cli: Cli, command: str, code: int) -> None:
    (cli.directory / "plain").write_text("no program")
    done = cli("run", command)
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(r"heapglass: .*\n", done.stderr)


def test_script_whose_interpreter_is_missing_is_127(cli: Cli) -> None:
    script = cli.directory / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    done = cli("run", "-q", "./script")
    assert done.returncode == 127
    assert "its interpreter or loader is missing" in done.stderr


def test_input_and_output_are_the_programs_own(cli: Cli) -> None:
    done = cli("run", "-q", "cat", stdin="through\n")
    assert (done.stdout, done.stderr) == ("through\n", "")


def test_arguments_arrive_as_given(cli: Cli) -> None:
    code = "import sys; print(sys.argv[1:])"
    words = ["", "a b", "--", "-q", "\udcff", "%p", "*"]
    done = cli("run", "-q", "--", sys.executable, "-c", code, *words)
    assert done.stdout == f"{words}\n"


def test_environment_differs_only_in_what_the_library_needs(cli: Cli) -> None:
    plain = bare("env", "-0", env=cli.environment()).stdout.split("\0")
    under = cli("run", "-q", "env", "-0").stdout.split("\0")
    added = {entry.partition("=")[0] for entry in set(under) - set(plain)}
    assert set(plain) <= set(under)
    assert {name for name in added if not name.startswith("HEAPGLASS_")} <= {"LD_PRELOAD"}


def test_signals_are_as_without_us(cli: Cli) -> None:
    argv = (sys.executable, "-S", "-c", STATUS)
    shell = f"trap '' USR1; exec {shlex.join(['env', '--block-signal=USR2'])} "
    plain = bare("sh", "-c", shell + shlex.join(argv), env=cli.environment())
    under = bare(
        *("sh", "-c", shell + shlex.join(cli.argv("run", "-q", *argv))),
        env=cli.environment(),
        cwd=cli.directory,
    )
    # /proc alone shows the handler of ours that stands in the kernel for the program's setting.
    *others, caught = under.stdout.split()
    assert int(caught, 16) & 1 << signal.SIGBUS - 1
    assert [*others, f"{int(caught, 16) & ~(1 << signal.SIGBUS - 1):016x}"] == plain.stdout.split()


def test_ignored_children_stay_ignored(cli: Cli) -> None:
    """With SIGCHLD ignored the kernel reaps by itself; our own child's end must still be seen."""
    code = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    command = cli.argv("run", "-q", sys.executable, "-S", "-c", f"{STATUS}; raise SystemExit(6)")
    done = bare(sys.executable, "-c", code, *command, env=cli.environment(), cwd=cli.directory)
    ignored = int(done.stdout.split()[3], 16)
    assert ignored & 1 << signal.SIGCHLD - 1
    assert done.returncode == 6


def test_broken_pipe_ends_the_program(cli: Cli) -> None:
    """The interpreter ignores SIGPIPE; the program must not."""
    command = shlex.join(cli.argv("run", "-q", "yes"))
    done = bare(
        "bash",
        "-c",
        f"{command} | head -1; echo ${{PIPESTATUS[0]}}",
        cwd=cli.directory,
        env=cli.environment(),
    )
    assert done.stdout == f"y\n{128 + signal.SIGPIPE}\n"


def test_broken_pipe_can_be_ignored_as_documented(cli: Cli) -> None:
    """That we were started so is lost; env, between us and the program, does it again."""
    argv = ("env", "--ignore-signal=PIPE", "grep", "SigIgn", "/proc/self/status")
    done = cli("run", "-q", *argv)
    assert int(done.stdout.split()[1], 16) & 1 << signal.SIGPIPE - 1


def test_descriptors_are_as_without_us(cli: Cli) -> None:
    code = "import os; print(sorted(os.listdir('/proc/self/fd')))"
    argv = (sys.executable, "-S", "-c", code)
    assert cli("run", "-q", *argv).stdout == bare(*argv).stdout


def test_process_group_and_session_are_kept(cli: Cli) -> None:
    code = "import os; print(os.getpgrp(), os.getsid(0))"
    done = cli("run", "-q", sys.executable, "-S", "-c", code)
    assert done.stdout == f"{os.getpgrp()} {os.getsid(0)}\n"
