"""The way from the command line to a command, and out of it again."""

from __future__ import annotations

import gzip
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

import heapglass
from harness.cli import Cli
from heapglass.cli import main as dispatcher
from heapglass.errors import HeapglassError, UsageError

MODULES = Path(dispatcher.__file__).parent
GOLDEN = Path(__file__).parents[2] / "golden" / "format-5" / "sampled.heapglass.gz"


def failing(error: BaseException) -> SimpleNamespace:
    def main(_: object) -> NoReturn:
        raise error

    return SimpleNamespace(HELP="", configure=lambda _: None, main=main)


@pytest.mark.parametrize("name", dispatcher.COMMANDS)
def test_table_says_what_the_module_says(name: str) -> None:
    command = dispatcher.load(name)
    assert (name, dispatcher.COMMANDS[name]) == (command.NAME, command.HELP)


def test_every_command_is_in_the_table() -> None:
    commands = {path.stem for path in MODULES.glob("*.py") if "\nNAME = " in path.read_text()}
    assert commands == set(dispatcher.COMMANDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", dispatcher.COMMANDS)
def test_every_command_explains_itself(name: str, cli: Cli) -> None:
    for arguments in ([name, "--help"], ["help", name]):
        done = cli(*arguments, environment={"COLUMNS": "80"})
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: heapglass {name}")
        assert max(map(len, done.stdout.splitlines())) <= 80
        _, _, examples = done.stdout.partition("\nexamples:\n")
        assert "heapglass" in examples


@pytest.mark.parametrize("word", ["--help", "-h", "help"])
def test_help_lists_the_commands(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatcher.main([word]) == 0
    out = capsys.readouterr().out
    words = " ".join(out.split())
    for name, text in dispatcher.COMMANDS.items():
        assert f"{name} {text}" in words
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatcher.main(["--version"]) == 0
    assert capsys.readouterr().out == f"heapglass {heapglass.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["help", "frobnicate"]])
def test_without_a_known_command_usage_is_wrong(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert dispatcher.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "heapglass --help" in captured.err or captured.err.startswith("usage: ")


@pytest.mark.parametrize(
    ("error", "code"), [(HeapglassError("it is broken"), 1), (UsageError("it is broken"), 2)]
)
def test_errors_are_one_sentence(
    error: HeapglassError,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dispatcher, "load", lambda _: failing(error))
    assert dispatcher.main(["lib"]) == code
    assert capsys.readouterr().err == "heapglass: it is broken\n"


def test_interrupt_is_quiet(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dispatcher, "load", lambda _: failing(KeyboardInterrupt()))
    assert dispatcher.main(["lib"]) == 130
    assert capsys.readouterr().err == ""


def test_reader_that_went_away_is_no_error(cli: Cli) -> None:
    process = subprocess.Popen(
        cli.argv("--help"), env=cli.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate()
    assert (process.returncode, errors) == (141, b"")


def redirected(cli: Cli, arguments: list[str], redirection: str) -> tuple[int, str]:
    """Exit code and stderr of the command as a shell runs it with that redirection."""
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(cli.argv(*arguments))} {redirection}"],
        env=cli.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["lib"], ["--version"], ["help"], ["summary", "x"]])
def test_closed_output_is_said(cli: Cli, arguments: list[str]) -> None:
    sentence = "heapglass: there is nowhere to write to: the standard output is closed\n"
    assert redirected(cli, arguments, ">&-") == (1, sentence)
    assert redirected(cli, arguments, ">&- 2>&-") == (1, "")


@pytest.mark.slow
def test_a_command_that_writes_a_file_needs_no_output(cli: Cli, tmp_path: Path) -> None:
    recording = str(tmp_path / "x.heapglass")
    Path(recording).write_bytes(gzip.decompress(GOLDEN.read_bytes()))
    for number, words in enumerate((["export", "-F", "collapsed"], ["report"])):
        file = tmp_path / str(number)
        code, _ = redirected(cli, [*words, "-o", str(file), recording], ">&-")
        assert (code, file.stat().st_size > 0) == (0, True)
        code, errors = redirected(cli, [*words, "-o", "-", recording], ">&-")
        assert (code, "the standard output is closed" in errors) == (1, True)
    assert redirected(cli, ["export", "--list"], ">&-")[0] == 1


def test_closed_input_is_said(cli: Cli) -> None:
    sentence = "heapglass: there is nothing to read: the standard input is closed\n"
    assert redirected(cli, ["log", "-"], "<&-") == (1, sentence)


@pytest.mark.parametrize(
    "arguments", [["lib"], ["--help"], ["run", "--help"], ["summary", "--help"]]
)
def test_full_output_is_said(cli: Cli, arguments: list[str]) -> None:
    sentence = "heapglass: the output cannot be written: No space left on device\n"
    assert redirected(cli, arguments, ">/dev/full") == (1, sentence)


def test_usage_errors_need_no_stderr(cli: Cli) -> None:
    assert redirected(cli, ["summary"], "2>&-") == (2, "")


def test_a_name_that_is_no_text_is_shown_as_bytes(cli: Cli) -> None:
    code, errors = redirected(cli, ["summary"], "\"$(printf 'a\\377\\033b')\"")
    assert (code, errors) == (
        1,
        "heapglass: a\\xff\\x1bb cannot be opened: No such file or directory\n",
    )


@pytest.mark.parametrize("command", ["summary", "doctor", "report", "pack", "log", "threads"])
def test_an_empty_name_is_said(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatcher.main([command, ""]) == 2
    assert capsys.readouterr().err == "heapglass: the name of the file to read is empty\n"


@pytest.mark.parametrize("command", ["doctor", "report", "pack"])
def test_a_moment_where_none_is_taken_is_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(b"")
    assert dispatcher.main([command, f"{tmp_path}/x@peak"]) == 2
    what = f"this command looks at all of {tmp_path}/x, and takes no @MOMENT"
    assert capsys.readouterr().err == f"heapglass: {what}\n"


def test_an_interrupt_of_an_import_is_quiet(cli: Cli, tmp_path: Path) -> None:
    """Libraries make other errors of it."""
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(9)\n"
        "except KeyboardInterrupt:\n"
        "    raise ImportError('numpy is broken')\n"
    )
    path = f"{tmp_path}:{cli.environment()['PYTHONPATH']}"
    done = cli("summary", "x", environment={"PYTHONPATH": path})
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_run_starts_without_anything_heavy(cli: Cli) -> None:
    """numpy, rich and argparse would cost each run tens of milliseconds."""
    code = (
        "import sys; from heapglass.cli.main import main; code = main(['run', '-q', 'true']);"
        "print(*sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=cli.environment(),
        cwd=cli.directory,
        capture_output=True,
        text=True,
        check=True,
    )
    heavy = {"numpy", "rich", "argparse", "symbolic", "pathlib", "subprocess", "asyncio", "urllib"}
    assert heavy.isdisjoint(done.stdout.split())


def test_one_way_leads_to_standard_error() -> None:
    """print(file=sys.stderr) writes to the standard output when standard error is closed."""
    texts = [path.read_text() for path in MODULES.glob("*.py")]
    assert not any("file=sys.stderr" in text for text in texts)
