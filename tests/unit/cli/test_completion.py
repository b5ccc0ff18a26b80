"""The scripts of `heapglass completion`, each asked by its own shell."""

from __future__ import annotations

import os
import pty
import subprocess
from pathlib import Path

import pytest

from heapglass.cli.completion_words import list_commands
from heapglass.cli.main import COMMANDS, main

LINES = {
    "heapglass fl": {"flamegraph"},
    "heapglass table --sort ": {"live", "peak", "allocations", "bytes", "temporary", "leaked"},
    "heapglass leaks --max": {"--max-bytes"},
    "heapglass run --sna": {"--snapshot", "--snapshot-churn", "--snapshot-log"},
    "heapglass completion ": {"bash", "fish", "zsh"},
}
# After these a program follows.
STARTS = [
    "run",
    "run --",
    "run -q --",
    "run -o x",
    "run -fo x",
    "run --depth=9",
    "run --sample",
    "run --sample auto",
]


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str], shell: str) -> Path:
    assert main(["completion", shell]) == 0
    path = tmp_path / f"words.{shell}"
    path.write_text(capsys.readouterr().out)
    return path


def ask(*command: str | Path) -> list[str]:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_heapglass
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize("shell", ["bash"])
@pytest.mark.parametrize("line", LINES)
def test_bash(script: Path, line: str) -> None:
    assert set(ask("bash", "-c", BASH, "bash", script, *line.split(" "))) == LINES[line]


@pytest.mark.parametrize("shell", ["bash"])
def test_bash_leaves_files_to_itself(script: Path) -> None:
    for words in (["table", "ser"], ["leaks", "--suppressions", "l"]):
        assert ask("bash", "-c", BASH, "bash", script, "heapglass", *words) == [""]


@pytest.mark.parametrize("shell", ["bash"])
@pytest.mark.parametrize("start", STARTS)
def test_bash_leaves_the_words_of_a_program_to_it(script: Path, start: str) -> None:
    words = ["heapglass", *start.replace("=", " = ").split()]
    assert ask("bash", "-c", BASH, "bash", script, *words, "ls", "--") == [""]
    assert "ls" in ask("bash", "-c", BASH, "bash", script, *words, "l")
    # Where bash-completion is loaded it knows the program.
    known = f'_command_offset() {{ COMPREPLY=("$1"); }}\n{BASH}'
    assert ask("bash", "-c", known, "bash", script, *words, "ls", "--") == [str(len(words))]


@pytest.mark.parametrize("shell", ["fish"])
@pytest.mark.parametrize("line", LINES)
def test_fish(script: Path, line: str) -> None:
    found = ask("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
    assert {text.split("\t")[0] for text in found} == LINES[line]


@pytest.mark.parametrize("shell", ["fish"])
@pytest.mark.parametrize("start", STARTS)
def test_fish_leaves_the_words_of_a_program_to_it(script: Path, start: str) -> None:
    def found(line: str) -> set[str]:
        words = f"source {script}; complete -c ls -l almost-all; complete -C '{line}'"
        return {text.split("\t")[0] for text in ask("fish", "--no-config", "-c", words)}

    assert found(f"heapglass {start} ls --") == {"--almost-all"}
    assert "ls" in found(f"heapglass {start} l")
    assert found(f"heapglass {start} ls --sort x --so") == set()


# Both functions that the script calls are zsh's own; here they say what they are asked.
ZSH = """
_describe() { print -l -- ${subcommands%%:*} }
_arguments() { print -l -- "$@" }
compdef() { }
source "$1"; shift
words=("$@") CURRENT=$#
_heapglass
"""


@pytest.mark.parametrize("shell", ["zsh"])
def test_zsh(script: Path) -> None:
    ask("zsh", "-f", "-n", script)
    assert ask("zsh", "-f", "-c", ZSH, "zsh", script, "heapglass", "") == list(COMMANDS)
    table = ask("zsh", "-f", "-c", ZSH, "zsh", script, "heapglass", "table", "")
    (sort,) = (text for text in table if text.startswith("*--sort["))
    assert sort.endswith(":value:(live peak allocations bytes temporary leaked)")
    assert table[-1] == "*:file:_files"
    shells = ask("zsh", "-f", "-c", ZSH, "zsh", script, "heapglass", "completion", "")
    assert shells[-1] == "*:value:(bash fish zsh)"


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh"])
@pytest.mark.parametrize(
    ("typed", "whole"),
    [
        ("heapglass run -- ls --almost", "heapglass run -- ls --almost-all "),
        ("heapglass run ls --almost", "heapglass run ls --almost-all "),
        ("heapglass run -q -- basena", "heapglass run -q -- basename "),
        ("heapglass run basena", "heapglass run basename "),
        ("heapglass run --no-f", "heapglass run --no-follow "),
    ],
)
def test_zsh_completes_as_it_does_for_its_own(script: Path, typed: str, whole: str) -> None:
    start = f"autoload -U compinit; compinit -D -u; source {script}; print loa''ded\n"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("zsh", ["zsh", "-f", "-i"], os.environ | {"TERM": "dumb"})
    try:
        os.write(terminal, start.encode())
        assert read_until(terminal, "loaded", "not found")
        os.write(terminal, f"{typed}\t".encode())
        assert read_until(terminal, whole, "\a")
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def read_until(terminal: int, wanted: str, failure: str) -> bool:
    """Whether the terminal shows what is wanted, and not the failure before."""
    shown = ""
    while wanted not in shown and failure not in shown:
        shown += os.read(terminal, 4096).decode(errors="replace")
    return wanted in shown


def test_every_option_is_known() -> None:
    options = {command.name: command.options for command in list_commands()}
    assert options.keys() == COMMANDS.keys()
    run = {name: option for option in options["run"] for name in option.names}
    assert {"-o", "--output", "--sample", "--core", "--no-follow"} <= run.keys()
    assert run["--output"].has_value
    assert not run["--force"].has_value
    assert run["--snapshot-churn"].text == ""
