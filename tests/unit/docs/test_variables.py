"""docs/environment.md has every variable that the library reads, with its option, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heapglass.cli import run
from heapglass.launch.environment import recording_environment

ROOT = Path(__file__).parents[3]
ROW = re.compile(r"\| (?P<names>`[A-Z_`, ]+) \| .+ \| .+ \| (?P<options>[^|]+) \|")
NAME = re.compile(r'"((?:HEAPGLASS|HT)_[A-Z_]+)"')
# Not of the library's making: where the usual place takes no file, and what loads the library.
ELSEWHERE = {"TMPDIR", "LD_PRELOAD"}
# A value of each option that takes one, other than what holds without it.
VALUES = {
    "output": "other",
    "depth": "9",
    "snapshot": "0.5",
    "snapshot-churn": "4096",
    "snapshot-log": "snapshots",
    "leaks-to": "left",
    "memory": "64M",
    "sample": "4096",
    "report": "5",
    "report-to": "reports",
    "socket": "sock",
    "log": "calls",
    "log-fd": "9",
}
# The launcher itself speaks for the library, replaces files, and packs and judges in the end.
LAUNCHERS_OWN = {"quiet", "force", "pack", "fail", "help"}


def documented() -> dict[str, list[str]]:
    """Each variable of the library and the names of its options, the long ones."""
    table = (ROOT / "docs" / "environment.md").read_text().partition("## Commands that read")[0]
    found = {}
    for row in map(ROW.fullmatch, table.splitlines()):
        if row:
            options = re.findall(r"`-+([a-z-]+)`", row["options"])
            for name in re.findall(r"`([A-Z_]+)`", row["names"]):
                found[name] = [run._SHORT.get(option, option) for option in options]
    return found


def read_by_the_library() -> set[str]:
    sources = [*(ROOT / "native/src").glob("*.c"), *(ROOT / "native/src").glob("*.h")]
    return {name for path in sources for name in NAME.findall(path.read_text())}


def test_every_variable_that_the_library_reads_has_a_row_and_no_other() -> None:
    assert set(documented()) == read_by_the_library()


def test_the_library_reads_its_environment_under_those_names_only() -> None:
    """A name made up at run time would escape the test above."""
    calls = []
    for path in (ROOT / "native/src").glob("*.c"):
        calls += re.findall(r"hg_options_env\(([^)]*)\)", path.read_text())
    words = {call for call in calls if not call.startswith("const char")}
    assert {word for word in words if not word.startswith('"')} == {"name"}
    assert {word.strip('"') for word in words} - {"name"} <= read_by_the_library() | ELSEWHERE


def test_every_option_of_run_is_in_a_row_and_no_other() -> None:
    named = {option for options in documented().values() for option in options}
    assert named | LAUNCHERS_OWN == run._WITH_VALUE | run._SWITCHES


@pytest.mark.parametrize("option", sorted((run._WITH_VALUE | run._SWITCHES) - LAUNCHERS_OWN))
def test_the_option_sets_the_variable_of_its_row(option: str) -> None:
    words = [f"--{option}={VALUES[option]}" if option in run._WITH_VALUE else f"--{option}"]
    changed = dict(_environment(*words).items() - _environment().items())
    names = [name for name, options in documented().items() if option in options]
    row = names[0]  # the others are old names
    # The one that is short for a value of another variable.
    expected = {"pmem": {"HEAPGLASS_SNAPSHOT_LOG": "pmem.%p.log"}}.get(option)
    assert changed == (expected or {row: changed.get(row)})


def _environment(*words: str) -> dict[str, str]:
    options = run.parse([*words, "cmd"])
    assert options
    template = options.output or "%e.%p.heapglass"
    made = recording_environment({}, options, "/lib/ours.so", template, "00ff")
    return {name.decode(): value.decode() for name, value in made.items()}


def test_the_help_of_run_names_them() -> None:
    """All that hold where the option is not given; the session is the launcher's own."""
    named = set(re.findall(r"HEAPGLASS_[A-Z_]+", run.USAGE))
    with_option = {name for name, options in documented().items() if options}
    assert with_option - {"HT_SOCKET"} <= named <= set(documented())
