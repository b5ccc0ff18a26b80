"""What the commands refuse, each in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from heapglass.cli.main import main
from unit.cli.sample_heap import sample_heap

if TYPE_CHECKING:
    from pathlib import Path

    from unit.cli.conftest import Run


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--filter", "function:["], "'[' is not a regular expression"),
        (["--filter", ""], "filter '' is empty"),
        (["--wrapper", "("], "'(' is not a regular expression"),
        (["--stacks", "--group", "file"], "cannot be used with --group"),
    ],
)
def test_a_question_that_makes_no_sense(run: Run, arguments: list[str], sentence: str) -> None:
    code, output, errors = run(sample_heap(), "table", "x", *arguments)
    assert (code, output) == (2, "")
    assert sentence in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--min", "12q"], "'12q' is not a size"),
        (["--limit", "-1"], "'-1' is not a number of rows"),
        (["--limit", "many"], "'many' is not a number of rows"),
        (["--sort", "colour"], "invalid choice: 'colour'"),
        (["--group", "colour"], "invalid choice: 'colour'"),
        (["--stack"], "heapglass: there is no option --stack;"),
        (["--stack=1", "another"], "heapglass: there is no option --stack;"),
        (["another"], "unrecognized arguments: another"),
    ],
)
def test_an_argument_that_cannot_be_read(run: Run, arguments: list[str], sentence: str) -> None:
    code, output, errors = run(sample_heap(), "table", "x", *arguments)
    assert (code, output) == (2, "")
    assert sentence in errors
    assert errors.endswith("; see 'heapglass table --help'\n")
    assert errors.count("\n") == 1


def test_an_option_that_another_command_has(capsys: pytest.CaptureFixture[str]) -> None:
    """Its value would be the source, and the source one word too many."""
    assert main(["summary", "--since", "1s", "x"]) == 2
    sentence = "heapglass: there is no option --since; see 'heapglass summary --help'\n"
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("command", ["summary", "table"])
def test_a_source_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no recording")
    secret = tmp_path / "missing"
    for argument in (str(secret), str(tmp_path), str(text), "/dev/null", "a\0b"):
        assert main([command, argument]) == 1
        output, errors = capsys.readouterr()
        assert output == ""
        assert errors.startswith("heapglass: ")
        assert errors.count("\n") == 1
        assert "Traceback" not in errors
