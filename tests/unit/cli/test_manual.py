"""docs/commands against what the commands say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heapglass.cli.main import COMMANDS, load
from heapglass.cli.parser import Parser
from heapglass.cli.run import USAGE

ROOT = Path(__file__).parents[3]
MANUAL = ROOT / "docs" / "commands"
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+|-[a-z])(?![\w-])")


def page(name: str) -> str:
    return (MANUAL / f"{'lib' if name == 'include' else name}.md").read_text()


def help_text(name: str) -> str:
    if name == "run":
        return USAGE
    parser = Parser(name)
    load(name).configure(parser)
    return parser.format_help()


@pytest.mark.parametrize("name", COMMANDS)
def test_manual_and_help_know_the_same_options(name: str) -> None:
    own, _, _ = help_text(name).partition("\nexamples:\n")
    in_help = set(_OPTION.findall(own)) - {"-h", "--help"}
    rows = [line for line in page(name).splitlines() if line.startswith("| `-")]
    in_manual = {option for row in rows for option in _OPTION.findall(row.split("|")[1])}
    assert in_manual - {"-h", "--help"} == in_help


@pytest.mark.parametrize("name", COMMANDS)
def test_readme_leads_to_the_manual(name: str) -> None:
    file = "lib" if name == "include" else name
    assert f"(docs/commands/{file}.md)" in (ROOT / "README.md").read_text()


def test_links_lead_somewhere() -> None:
    for document in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / link).exists(), f"{document.name}: {link}"
