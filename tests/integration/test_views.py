"""Trees, histograms, leaks and differences of a real program, before and after it was repaired."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cli import Cli
from harness.programs import TESTS

SERVER = TESTS.parent / "examples" / "leaky_server.c"
REQUESTS = 2000
LEAK = "return; /* the leak: `line` is not freed here */"


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds before.heapglass, and after.heapglass of the program repaired and built anew."""
    directory = tmp_path_factory.mktemp("views")
    source = SERVER.read_text()
    assert LEAK in source
    repaired = "/* moved\n *\n */\n" + source.replace(LEAK, "free(line);\n        return;")
    record(directory, "before", source, "-O2")
    record(directory, "after", repaired, "-O1")
    return directory


def record(directory: Path, name: str, source: str, optimize: str) -> None:
    (directory / f"{name}.c").write_text(source)
    command = ["gcc", optimize, "-g", "-pthread", f"{name}.c", "-o", name]
    subprocess.run(command, cwd=directory, check=True)
    options = ["-q", "-o", f"{name}.heapglass", "--snapshot-churn", "64k"]
    done = Cli(directory)("run", *options, "--", f"./{name}", str(REQUESTS))
    assert done.returncode == 0, done.stderr


@pytest.fixture
def show(recordings: Path) -> Cli:
    return Cli(recordings)


def document(show: Cli, *arguments: str) -> dict[str, Any]:
    done = show(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    parsed: dict[str, Any] = json.loads(done.stdout)
    return parsed


def test_trees_hold_everything(show: Cli) -> None:
    totals = document(show, "summary", "before.heapglass")["totals"]
    for options in ((), ("--callers",), ("--all-frames",), ("--group", "line")):
        words = ("before.heapglass", "--sort", "live", "--min", "0", *options)
        nodes = document(show, "tree", *words)["nodes"]
        assert nodes[0]["total"] == totals["live_bytes"]
        assert nodes[0]["live_blocks"] == totals["live_blocks"]
        assert any(node["function"] == "serve_connection" for node in nodes)
    hidden = document(show, "tree", "before.heapglass", "--min", "0")["nodes"]
    assert not any(node["function"] in ("malloc", "start_thread", "clone3") for node in hidden)


def test_blocks_are_sorted_by_size_and_age(show: Cli) -> None:
    totals = document(show, "summary", "before.heapglass")["totals"]
    for command in ("sizes", "ages"):
        found = document(show, command, "before.heapglass", "--group", "site")
        assert sum(one["live_blocks"] for one in found["classes"]) == totals["live_blocks"]
        assert sum(one["live_bytes"] for one in found["classes"]) == totals["live_bytes"]
        assert sum(row["live_blocks"] for row in found["rows"]) == totals["live_blocks"]
    words = ("before.heapglass", "--function", "^cache_insert$", "--group", "site")
    entries = document(show, "sizes", *words)
    assert {row["name"] for row in entries["rows"]} == {"cache_insert"}


def test_threads_add_up(show: Cli) -> None:
    totals = document(show, "summary", "before.heapglass")["totals"]
    found = document(show, "threads", "before.heapglass")["threads"]
    assert sum(one["allocations"] for one in found) == totals["allocations"]
    assert sum(one["net_bytes"] for one in found) == totals["live_bytes"]
    # When a thread gets its name is its own affair; threads one after the other may share counters.
    busiest = found[0]
    named = document(show, "threads", "before.heapglass", "--group", "name")["threads"]
    assert sorted(tid for row in named for tid in row["tids"]) == sorted(
        row["tids"][0] for row in found
    )
    own = document(show, "table", "before.heapglass", "--thread", str(busiest["tids"][0]))
    assert busiest["allocations"] <= own["sum"]["allocations"] < totals["allocations"]
    everyone = document(show, "table", "before.heapglass", "--thread", "")
    assert everyone["sum"]["allocations"] == totals["allocations"]
    assert everyone["sum"]["live_bytes"] == totals["live_bytes"]


def test_moments_lie_between_start_and_end(show: Cli) -> None:
    whole = document(show, "table", "before.heapglass")["sum"]
    peak = document(show, "table", "before.heapglass@peak")["sum"]
    assert peak["live_bytes"] == whole["peak_bytes"]
    start = document(show, "table", "before.heapglass@start")
    assert start["matched"] == 0
    window = document(show, "table", "before.heapglass", "--since", "start")["sum"]
    assert window["allocations"] == whole["allocations"]
    points = document(show, "timeline", "before.heapglass")["points"]
    assert points == sorted(points, key=lambda point: point[0])
    assert points[-1][1] == whole["live_bytes"]


def test_the_leak_is_certain_and_can_fail_a_build(show: Cli, recordings: Path) -> None:
    found = document(show, "leaks", "before.heapglass")
    growing = [leak["name"] for leak in found["leaks"] if leak["certainty"] == "growing"]
    assert "serve_connection" in growing
    assert found["leaks"][0]["name"] in growing
    assert found["growth_known"]
    assert any(one["built_in"] for one in found["left_out"])
    assert show("leaks", "before.heapglass", "--fail").returncode == 1
    assert show("leaks", "before.heapglass", "--max-bytes", "1k").returncode == 1
    assert show("leaks", "before.heapglass", "--max-bytes", "1G").returncode == 0
    (recordings / "known.supp").write_text("# all of it\nleak:^serve_connection$\nleak:cache_*\n")
    known = show("leaks", "before.heapglass", "--suppressions", "known.supp", "--fail")
    assert known.returncode == 0
    assert "Leaked  nothing" in known.stdout
    words = " ".join(known.stdout.split())  # lines break where the numbers make them
    assert "left out, suppressed by leak:^serve_connection$ (known.supp)." in words


def test_the_repair_is_found_across_the_rebuild(show: Cli) -> None:
    found = document(show, "diff", "before.heapglass", "after.heapglass", "--sort", "live")
    first = found["rows"][0]
    assert first["name"] == "serve_connection"
    assert first["change"] in ("shrunk", "gone")
    inserts = [row for row in found["rows"] if row["name"] in ("cache_insert", "cache_put")]
    assert all(row["change"] in ("grown", "shrunk") for row in inserts)  # neither new nor gone
    same = document(show, "diff", "before.heapglass", "before.heapglass")
    assert same["rows"] == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["table", "before.heapglass@soon"], "'soon' is not a moment"),
        (["table", "before.heapglass@1h"], "before 1 h"),
        (["table", "before.heapglass@1ms", "--until", "2s"], "give one of them"),
        (["tree", "before.heapglass", "--thread", "x", "--since", "1ms"], "threads apart"),
        (["table", "before.heapglass@peak", "--sort", "temporary"], "'temporary' is not known"),
        (["sizes", "before.heapglass@peak"], "single blocks are only known"),
        (["threads", "before.heapglass", "--thread", "nobody"], "no thread is called 'nobody'"),
        (["leaks", "before.heapglass", "--suppressions", "none"], "none cannot be read"),
        (["leaks", "before.heapglass", "--suppressions", "before.c"], "is no suppression"),
        (["leaks", "before.heapglass", "--group", "file", "--stacks"], "cannot be used with"),
        (["diff", "before.heapglass", "missing@end"], "missing"),
        (["timeline", "before.heapglass", "--since", "1h"], "--since must be before"),
    ],
)
def test_what_makes_no_sense_is_said(show: Cli, arguments: list[str], sentence: str) -> None:
    done = show(*arguments)
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
