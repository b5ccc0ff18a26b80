"""The scripts of `heapglass completion`, each asked by its own shell."""

from __future__ import annotations

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


@pytest.mark.parametrize("shell", ["fish"])
@pytest.mark.parametrize("line", LINES)
def test_fish(script: Path, line: str) -> None:
    found = ask("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'")
    assert {text.split("\t")[0] for text in found} == LINES[line]


# Both functions that the script calls are zsh's own; here they say what they are asked.
ZSH = """
_describe() { print -l -- ${commands%%:*} }
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


def test_every_option_is_known() -> None:
    options = {command.name: command.options for command in list_commands()}
    assert options.keys() == COMMANDS.keys()
    run = {name: option for option in options["run"] for name in option.names}
    assert {"-o", "--output", "--sample", "--core", "--no-follow"} <= run.keys()
    assert run["--output"].has_value
    assert not run["--force"].has_value
    assert run["--snapshot-churn"].text == ""
