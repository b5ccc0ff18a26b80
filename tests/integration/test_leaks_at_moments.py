"""Leaks of a moment, and what only destructors gave back, against what a program really held."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from harness.cli import Cli

if TYPE_CHECKING:
    from pathlib import Path

# Grows by 100 blocks of 1,000 bytes a step, keeps 64,000 bytes from the start, and leaks 100 bytes.
# Of a mark the first snapshot since is shown: that of its step, as none is within a tick before it.
PROGRAM = """
#include <heapglass.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
enum { STEPS = 20, BLOCKS = 100 };
static char *grown[STEPS * BLOCKS], *kept, *volatile lost;
__attribute__((noipa)) void grow(int n) { grown[n] = memset(malloc(1000), 1, 1000); }
__attribute__((noipa)) void keep(void) { kept = memset(malloc(64000), 1, 64000); }
__attribute__((noipa)) void lose(void) { lost = memset(malloc(100), 1, 100); lost = NULL; }
__attribute__((destructor)) static void give_back(void) {
    if (!getenv("GIVES_BACK")) return;
    for (int n = 0; n < STEPS * BLOCKS; n++) free(grown[n]);
    free(kept);
}
int main(void) {
    keep();
    lose();
    for (int step = 0; step < STEPS; step++) {
        for (int n = 0; n < BLOCKS; n++) grow(step * BLOCKS + n);
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        char name[16];
        snprintf(name, sizeof name, "step%d", step);
        heapglass_mark(name);
        heapglass_snapshot();
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("leaks")
    (directory / "program.c").write_text(PROGRAM)
    cli = Cli(directory)
    include = cli("include").stdout.strip()
    command = ["gcc", "-O1", "-g", f"-I{include}", "program.c", "-o", "program"]
    subprocess.run(command, cwd=directory, check=True)
    for name, environment in (("kept", {}), ("freed", {"GIVES_BACK": "1"})):
        words = ("run", "-q", "-o", f"{name}.heapglass", "--snapshot", "0", "./program")
        done = cli(*words, environment=environment)
        assert done.returncode == 0, done.stderr
    return directory


@pytest.fixture
def show(directory: Path) -> Cli:
    return Cli(directory)


def document(show: Cli, *arguments: str) -> dict[str, Any]:
    done = show("leaks", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def row(rows: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (one for one in rows if one["name"] == name)
    return found


@pytest.mark.parametrize("step", [3, 9, 19])
def test_a_moment_has_what_was_live_then(show: Cli, step: int) -> None:
    for name in ("kept", "freed"):
        found = document(show, f"{name}.heapglass@step{step}")
        grown, kept = row(found["leaks"], "grow"), row(found["leaks"], "keep")
        assert (grown["live_blocks"], grown["live_bytes"]) == ((step + 1) * 100, (step + 1) * 10**5)
        assert (kept["live_blocks"], kept["live_bytes"]) == (1, 64_000)
        assert row(found["leaks"], "lose")["live_bytes"] == 100
        assert (grown["certainty"], kept["certainty"]) == ("growing", "kept")
        assert (grown["oldest"], grown["sites"][0]["median_age"]) == (None, None)
        assert grown["sites"][0]["tenths"] is None
        assert found["remainder"] == "live"
        assert found["freed_at_end"] is None


def test_the_peak_is_a_moment(show: Cli) -> None:
    found = document(show, "freed.heapglass@peak")
    assert row(found["leaks"], "grow")["live_bytes"] == 2_000_000


def test_the_screen_of_a_moment_has_no_ages(show: Cli) -> None:
    done = show("leaks", "freed.heapglass@step9")
    assert done.returncode == 0, done.stderr
    assert "Live then  1.0 MiB in 1,002 blocks from 3 sites" in done.stdout
    assert "OLDEST" not in done.stdout


def test_what_only_a_destructor_freed_is_named(show: Cli) -> None:
    found = document(show, "freed.heapglass")
    assert row(found["leaks"], "lose")["live_bytes"] == 100
    freed = found["freed_at_end"]
    assert freed["freed_bytes"] == 2_064_000
    assert [(one["name"], one["live_bytes"]) for one in freed["sites"]] == [
        ("grow", 2_000_000),
        ("keep", 64_000),
    ]
    assert [one["certainty"] for one in freed["sites"]] == ["growing", "kept"]
    assert 0.5 < freed["time"] <= found["process"]["duration"]
    done = show("leaks", "freed.heapglass")
    assert "Freed at the end  2.0 MiB, 100% of the peak, after the last snapshot at" in done.stdout
    assert "The greatest sites of that snapshot stand in for the last moments:" in done.stdout
    assert "grow  " in done.stdout.partition("Freed at the end")[2]


def test_nothing_is_said_of_what_was_not_freed(show: Cli) -> None:
    assert document(show, "kept.heapglass")["freed_at_end"] is None
    assert "Freed at the end" not in show("leaks", "kept.heapglass").stdout


def test_what_is_chosen_by_age_has_no_stand_in(show: Cli) -> None:
    for option in (("--since", "0.1s"), ("--until", "0.5s"), ("--min-age", "1ms")):
        assert document(show, "freed.heapglass", *option)["freed_at_end"] is None
        done = show("leaks", "freed.heapglass@step9", *option)
        assert done.returncode == 2
        assert "cannot be used with SOURCE@MOMENT" in done.stderr


def test_filters_and_suppressions_hold_for_it(show: Cli, directory: Path) -> None:
    found = document(show, "freed.heapglass", "--function", "^keep$")["freed_at_end"]
    assert [one["name"] for one in found["sites"]] == ["keep"]
    (directory / "grow.supp").write_text("leak:^grow$\n")
    found = document(show, "freed.heapglass", "--suppressions", "grow.supp")["freed_at_end"]
    assert [one["name"] for one in found["sites"]] == ["keep"]
    moment = document(show, "kept.heapglass@step9", "--suppressions", "grow.supp")
    assert {one["name"] for one in moment["leaks"]} == {"keep", "lose"}


def test_only_what_grows_is_a_failure(show: Cli) -> None:
    growing = ("leaks", "kept.heapglass", "--fail-growing")
    assert show(*growing).returncode == 1
    assert show(*growing, "--function", "^(keep|lose)$").returncode == 0
    assert show("leaks", "kept.heapglass", "--fail", "--function", "^keep$").returncode == 1
    assert show("leaks", "freed.heapglass", "--fail-growing").returncode == 0
    assert show("leaks", "kept.heapglass@step9", "--fail-growing").returncode == 1
    # A row that is not shown counts, too.
    assert show(*growing, "--limit", "1", "--json").returncode == 1
    assert document_growing(show) == 1


def document_growing(show: Cli) -> int:
    found: int = json.loads(show("leaks", "kept.heapglass", "--json").stdout)["growing"]
    return found
