"""docs/promises.md names tests that exist, and every row has one or says why not."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
TEXTS = ("hyperthymesia", "malloc-stat", "pmem", "malloc_tracer", "dmalloc")
REFERENCE = re.compile(r"`([^`]+)`")


def rows() -> list[tuple[str, str, str]]:
    """All rows of all tables: the promise, what keeps it, what shows it."""
    lines = (DOCS / "promises.md").read_text().splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    assert [row for row in cells if len(row) != 3] == []
    return [(a, b, c) for a, b, c in cells if c != "shown by"]


@functools.cache
def collected(path: Path) -> frozenset[str]:
    """What pytest collects from a file; of a C file, functions that are defined and called."""
    text = path.read_text()
    if path.suffix == ".c":
        defined = re.findall(r"^static void (\w+)\(void\)", text, re.MULTILINE)
        return frozenset(name for name in defined if len(re.findall(rf"\b{name}\b", text)) > 1)
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def exists(reference: str) -> bool:
    file, _, name = reference.partition("::")
    path = ROOT / file if file.startswith("native/") else ROOT / "tests" / file
    is_test_file = path.name.startswith("test_") and path.is_file()
    return is_test_file and name in collected(path)


def test_every_named_test_exists() -> None:
    named = {reference for _, _, shown in rows() for reference in REFERENCE.findall(shown)}
    assert len(named) > 50
    assert sorted(reference for reference in named if not exists(reference)) == []


def test_every_promise_is_shown_or_said_not_to_be_kept() -> None:
    for promise, kept, shown in rows():
        if shown == "no test":
            assert kept.startswith("**Not kept**"), promise
        else:
            assert REFERENCE.sub("", shown).replace(",", "").strip() == "", promise


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_has_its_section_and_its_page_leads_there(text: str) -> None:
    assert f"\n## {text}\n" in (DOCS / "promises.md").read_text()
    assert f"](promises.md#{text})" in (DOCS / f"coming-from-{text}.md").read_text()
