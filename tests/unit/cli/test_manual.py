"""docs/commands, and the man pages made of it, against what the commands say of themselves."""

from __future__ import annotations

import re
import runpy
import subprocess
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


@pytest.fixture(scope="module")
def man(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of man pages."""
    directory = tmp_path_factory.mktemp("man")
    made = runpy.run_path(str(ROOT / "tools/manual.py"))["write_pages"](ROOT, directory / "man1")
    assert {path.name for path in made} == {path.name for path in (directory / "man1").iterdir()}
    return directory


def shown(man: Path, name: str) -> str:
    """As a terminal of 80 columns shows it. troff warns of nothing."""
    done = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", f"man1/{name}.1"],
        cwd=man,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_a_man_page_has_all_of_its_command(name: str, man: Path) -> None:
    if name == "include":
        assert (man / "man1/heapglass-include.1").read_text() == ".so man1/heapglass-lib.1\n"
        return
    text = shown(man, f"heapglass-{name}")
    words = " ".join(text.split())
    assert f"heapglass-{name}" in text.partition("SYNOPSIS")[0]
    assert COMMANDS[name] in words.partition(" SYNOPSIS ")[0]
    _, _, options = text.partition("\nOPTIONS\n")
    own, _, examples = help_text(name).partition("\nexamples:\n")
    for option in set(_OPTION.findall(own)) - {"-h", "--help"}:
        assert option in options
    if "\n## Examples\n" not in page(name):
        for line in examples.strip().splitlines():
            assert line.strip() in text
    for leftover in ("](", "**", "```", "\n#", "|---"):
        assert leftover not in text


def test_a_man_page_leads_to_all_others(man: Path) -> None:
    text = shown(man, "heapglass")
    for name, summary in COMMANDS.items():
        assert f"heapglass-{name}(1)" in text
        assert summary in " ".join(text.split())


def test_a_man_page_shows_what_roff_would_take_for_its_own(man: Path) -> None:
    """Dots, quotes, backslashes and dashes are what they were: options can be copied."""
    text = shown(man, "heapglass-core") + shown(man, "heapglass-run")
    for words in ("'.modules[0].functions[0]'", "select count(*) from t'", "%e.%p.heapglass"):
        assert words in text


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "include"])
def test_a_synopsis_has_known_options_only(name: str) -> None:
    synopsis = page(name).split("```")[1]
    assert set(_OPTION.findall(synopsis)) <= set(_OPTION.findall(help_text(name)))
