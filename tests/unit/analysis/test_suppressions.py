from __future__ import annotations

import pytest

from heapglass.analysis.stacks import NamedStack
from heapglass.analysis.suppressions import (
    Suppression,
    Suppressor,
    compile_template,
    parse_suppressions,
)
from heapglass.errors import UsageError
from heapglass.model import Frame
from unit.fake_source import frame

LIBC = "/lib/libc.so.6"
CALLOC = frame("calloc", "", 0, LIBC)
LOADER = frame("_dl_init", "", 0, "/lib/ld-linux-x86-64.so.2")
MAIN = frame("main", "/src/main.c", 1)
PLUGIN = frame("plugin::Registry::add(char const*)", "/src/plugin.cc", 7, "/opt/libplugin.so.1")


def found(text: str, *frames: Frame, origin: str = "x.supp") -> Suppression | None:
    return Suppressor(parse_suppressions(text, origin)).find(NamedStack(frames))


@pytest.mark.parametrize(
    ("template", "text", "matches"),
    [
        ("Registry", "plugin::Registry::add", True),
        ("^Registry", "plugin::Registry::add", False),
        ("^plugin*add$", "plugin::Registry::add", True),
        ("plugin$", "plugin::Registry::add", False),
        ("a.b", "axb", False),
        ("*", "anything", True),
        ("^$", "something", False),
        ("f(int)", "f(int)", True),
    ],
)
def test_templates(template: str, text: str, *, matches: bool) -> None:
    assert bool(compile_template(template).search(text)) == matches


def test_any_frame_may_be_meant_by_function_file_or_module() -> None:
    for line in ("leak:Registry", "leak:plugin.cc", "leak:libplugin.so", "leak:^plugin*::add$"):
        assert found(line, CALLOC, PLUGIN, MAIN), line
    assert found("leak:^add$", CALLOC, PLUGIN, MAIN) is None
    assert found("leak:other", CALLOC, PLUGIN, MAIN) is None


def test_comments_and_other_sanitizers_are_passed_over() -> None:
    text = "# leak:main\n\n  race:main\nleak:Registry  \n"
    (one,) = parse_suppressions(text, "x.supp")
    assert (one.text, one.origin) == ("Registry", "x.supp")


@pytest.mark.parametrize("line", ["main", "leak:", "just words"])
def test_a_line_that_makes_no_sense_is_named(line: str) -> None:
    with pytest.raises(UsageError, match=r"^x\.supp:2: "):
        list(parse_suppressions(f"leak:a\n{line}\n", "x.supp"))


def test_what_is_built_in_is_about_the_runtime_alone() -> None:
    """The loader calls constructors: what these leak is theirs."""
    assert found("leak:^_dl_*", CALLOC, LOADER, MAIN, origin="")
    assert found("leak:^_dl_*", CALLOC, PLUGIN, LOADER, origin="") is None
    assert found("leak:^_dl_*", CALLOC, PLUGIN, LOADER, origin="mine.supp")
