"""The documents of --json against docs/json.md: every key there, with its type."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from heapglass.model import Finding, ProcessState, Severity
from heapglass.views.json.bench import cell_document, program_document
from heapglass.views.json.doctor import machine_document
from heapglass.views.json.log import log_document
from unit.cli.sample_costs import CELL_COSTS, MODES, PLAN, PROGRAM_COSTS
from unit.cli.sample_heap import (
    SITES,
    empty_heap,
    estimated_heap,
    freed_heap,
    historic_heap,
    lossy_heap,
    running_heap,
    sample_heap,
    sampled_heap,
)
from unit.cli.sample_log import sample_log

if TYPE_CHECKING:
    from unit.cli.conftest import Run
    from unit.fake_source import FakeSource

DOCS = Path(__file__).parents[3] / "docs" / "json.md"
COUNTERS = {
    "allocations",
    "frees",
    "bytes_allocated",
    "bytes_freed",
    "live_blocks",
    "live_bytes",
    "peak_blocks",
    "peak_bytes",
    "temporary",
    "realloc_in_place",
    "realloc_moved",
}
FRAME = {"function", "file", "line", "module", "address", "offset", "inlined"}


def document(run: Run, heap: FakeSource, *arguments: str) -> dict[str, Any]:
    code, output, errors = run(heap, *arguments, "--json")
    assert (code, errors) == (0, "")
    parsed: dict[str, Any] = json.loads(output)
    return parsed


DATA = {"losses", "stats", "calls"}  # whose keys are names of kinds


def keys(value: object) -> set[str]:
    """Every key anywhere in a document, but for those that are data."""
    if isinstance(value, list):
        return set().union(*map(keys, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    below = (keys(inner) for name, inner in value.items() if name not in DATA)
    return set(value).union(*below)


def test_summary_has_its_keys(run: Run) -> None:
    heap = sample_heap()
    found = document(run, heap, "summary", "x")
    assert found["schema"] == "heapglass.summary/1"
    assert {"pid", "exe", "argv", "state", "exit"} <= found["process"].keys()
    assert {
        "allocations",
        "frees",
        "bytes_allocated",
        "bytes_freed",
        "live_blocks",
        "live_bytes",
        "peak_bytes",
        "peak_time",
        "temporary",
    } <= found["totals"].keys()
    assert {"mode", "memory_bytes"} <= found["recorder"].keys()
    assert found["losses"] == {}


def test_summary_has_the_numbers_of_the_source(run: Run) -> None:
    heap = sample_heap()
    found = document(run, heap, "summary", "x", "-n", "2")
    totals = heap.totals
    assert found["totals"]["allocations"] == totals.allocations
    assert found["totals"]["peak_bytes"] == totals.peak_bytes
    assert found["totals"]["peak_time"] == 2.1
    assert found["totals"]["slack_bytes"] == 1000
    assert found["totals"]["peak_difference_bytes"] == 0
    assert found["process"]["argv"] == ["app", "--input", "data file.txt"]
    assert found["process"]["duration"] == 3.4
    assert [site["peak_bytes"] for site in found["at_peak"]] == [25_165_824, 4_000_000]
    assert [site["live_bytes"] for site in found["remaining"]] == [20_971_520, 163_840]
    assert sum(bar["count"] for bar in found["sizes"]) == sum(heap.sizes.values())


def test_losses_are_counted_by_kind(run: Run) -> None:
    found = document(run, lossy_heap(), "summary", "x")
    assert found["losses"] == {"early": 1, "stack_no_rule": 7, "sites_full": 123_456}
    assert found["recorder"]["ladder"] == "dropping"
    assert found["recorder"]["ladder_time"] == 2.5
    assert len(found["caveats"]) == 3  # the others change no number by a per cent
    table = document(run, lossy_heap(), "table", "x")
    assert table["losses"] == found["losses"]


@pytest.mark.parametrize(
    ("state", "status", "signal", "expected"),
    [
        (ProcessState.RUNNING, None, None, (None, None)),
        (ProcessState.EXITED, 0, None, (0, None)),
        (ProcessState.EXITED, 7, None, (7, None)),
        (ProcessState.SIGNALED, None, 9, (137, 9)),
        (ProcessState.KILLED, None, None, (None, None)),
    ],
)
def test_the_exit_has_one_form(
    run: Run,
    state: ProcessState,
    status: int | None,
    signal: int | None,
    expected: tuple[int | None, int | None],
) -> None:
    heap = sample_heap()
    heap.state, heap.exit_status, heap.exit_signal = state, status, signal
    process = document(run, heap, "summary", "x")["process"]
    assert (process["exit"], process["signal"]) == expected
    assert process["state"] == state.value


def test_table_has_all_sites_and_whole_stacks(run: Run) -> None:
    found = document(run, sample_heap(), "table", "x")
    assert found["schema"] == "heapglass.table/1"
    assert len(found["sites"]) == len(SITES) == found["matched"]
    by_id = {site["id"]: site for site in found["sites"]}
    for number, made in enumerate(SITES, 2):
        site = by_id[number]
        assert site.keys() >= COUNTERS
        assert site["live_bytes"] == made.bytes_allocated - made.bytes_freed
        assert [frame["function"] for frame in site["stack"]] == [f.function for f in made.frames]
        assert all(frame.keys() == FRAME for frame in site["stack"])
    assert by_id[2]["responsible"] == 2
    assert [frame["inlined"] for frame in by_id[2]["stack"][:3]] == [False, True, False]


def test_each_site_has_a_line(run: Run) -> None:
    _, output, _ = run(sample_heap(), "table", "x", "--json")
    sites = [line for line in output.splitlines() if line.startswith('{"id"')]
    assert len(sites) == len(SITES)
    assert json.loads(sites[0].rstrip(","))["id"] == 2


def test_table_keeps_to_a_limit_when_told(run: Run) -> None:
    found = document(run, sample_heap(), "table", "x", "--limit", "2")
    assert len(found["sites"]) == 2
    assert found["matched"] == len(SITES)
    everything = document(run, sample_heap(), "table", "x", "--limit", "0")
    assert len(everything["sites"]) == len(SITES)


def test_groups_name_their_sites(run: Run) -> None:
    found = document(run, sample_heap(), "table", "x", "--group", "function")
    assert found["schema"] == "heapglass.table/1"
    assert found["group"] == "function"
    grouped = sorted(site for group in found["groups"] for site in group["sites"])
    assert grouped == sorted(site["id"] for site in found["sites"])
    total = sum(group["peak_bytes"] for group in found["groups"])
    assert total == found["sum"]["peak_bytes"] == sum(s["peak_bytes"] for s in found["sites"])


@pytest.mark.parametrize("by", ["function", "file", "module", "thread"])
def test_groups_of_a_limit_come_with_their_sites_only(run: Run, by: str) -> None:
    found = document(run, sample_heap(), "table", "x", "--group", by, "--limit", "1")
    (group,) = found["groups"]
    assert {site["id"] for site in found["sites"]} == set(group["sites"])


def test_the_doctor_has_the_numbers_of_the_source(run: Run) -> None:
    heap = lossy_heap()
    found = document(run, heap, "doctor", "x")
    assert found["schema"] == "heapglass.doctor/1"
    assert found["stats"] == heap.stats
    assert found["rates"]["recalled"] == heap.totals.allocations - heap.stats["walks"]
    assert [thread["tid"] for thread in found["threads"]] == [4242, 4243, 4244]
    assert found["threads"][0]["losses"] == {"early": 1, "stack_no_rule": 7, "sites_full": 123_456}
    assert found["findings"][0]["severity"] == "warning"
    assert found["file"]["file_system"] == "ext4"


def test_estimates_have_errors(run: Run) -> None:
    table = document(run, sampled_heap(), "table", "x", "--sort", "bytes")
    estimate = next(site for site in table["sites"] if site.get("samples") == 1)
    assert estimate["sample_bytes"] == 512 << 10
    assert estimate["errors"]["live_bytes"] == estimate["live_bytes"] // 10
    assert any("errors" not in site for site in table["sites"])
    squares = sum(site["errors"]["peak_bytes"] ** 2 for site in table["sites"] if "errors" in site)
    assert table["sum"]["errors"]["peak_bytes"] == pytest.approx(squares**0.5)


def test_errors_of_calls_add_up_as_squares(run: Run) -> None:
    sites = document(run, sampled_heap(), "table", "x", "--sort", "bytes")["sites"]
    root, *nodes = document(run, sampled_heap(), "tree", "x", "--sort", "bytes", "--min", "0")[
        "nodes"
    ]
    for name in ("live_bytes", "bytes_allocated"):
        squares = sum(site["errors"][name] ** 2 for site in sites if "errors" in site)
        assert root["errors"][name] == pytest.approx(squares**0.5)
    assert root["samples"] == sum(site.get("samples", 0) for site in sites)
    assert any("errors" not in node for node in nodes)
    at_peak = document(run, sampled_heap(), "tree", "x@peak")["nodes"][0]
    assert set(at_peak["errors"]) == {"live_blocks", "live_bytes"}


def test_totals_of_differences_are_those_of_the_summary(run: Run) -> None:
    found = document(run, sampled_heap(), "diff", "x@peak", "later")
    for side, name in (("before", "x@peak"), ("after", "later")):
        totals = document(run, sampled_heap(), "summary", name)["totals"]
        assert found[side]["totals"] == totals | {"peak_difference_bytes": None}
    assert found["before"]["totals"]["errors"]
    assert found["before"]["totals"]["peak_bytes"] is None
    assert found["before"]["totals"]["usable_live_bytes"] is None


def test_at_a_moment_sites_are_added_up_in_requested_bytes(run: Run) -> None:
    assert document(run, sampled_heap(), "summary", "x")["totals"]["live_unit"] == "usable"
    assert document(run, sampled_heap(), "summary", "x@peak")["totals"]["live_unit"] == "requested"


def test_errors_of_differences(run: Run) -> None:
    rows = document(run, sampled_heap(), "diff", "x", "later", "--sort", "live")["rows"]
    sampled = [row for row in rows if "error" in row["before"]]
    assert sampled
    for row in sampled:
        assert row["before"]["error"] == row["before"]["value"] // 10
        assert row["delta_error"] == row["before"]["error"]  # the later one is exact


def view_keys(run: Run) -> set[str]:
    """Of everything that looks at the history, or at two heaps."""
    commands = (
        ("tree", "x"),
        ("timeline", "x"),
        ("sizes", "x", "--group", "site"),
        ("ages", "x", "--group", "function"),
        ("threads", "x"),
        ("leaks", "x"),
        ("leaks", "x", "--group", "function", "--min", "2k"),
        ("diff", "x", "later"),
        ("table", "x@1s"),
    )
    found = [keys(document(run, historic_heap(), *command)) for command in commands]
    found.append(keys(document(run, sampled_heap(), "diff", "x", "later")))
    found.append(keys(document(run, sampled_heap(), "tree", "x")))
    found.append(keys(document(run, estimated_heap(), "timeline", "x", "--function", "Index")))
    return set().union(*found)


def test_curves_of_sampled_sites_have_errors(run: Run) -> None:
    found = document(run, estimated_heap(), "timeline", "x", "--function", "Index")
    (site,) = found["sites"]
    assert [value for _, value in found["points"]][:2] == [8_000_000, 12_000_000]
    assert found["point_errors"][:2] == site["point_errors"][:2] == [800_000, 1_200_000]
    assert len(site["points"]) == len(site["point_errors"])
    assert "point_errors" not in document(run, historic_heap(), "timeline", "x")


def test_a_tree_adds_up(run: Run) -> None:
    found = document(run, sample_heap(), "tree", "x", "--min", "0")
    nodes = found["nodes"]
    assert found["schema"] == "heapglass.tree/1"
    assert nodes[0]["parent"] is None
    assert nodes[0]["total"] == sample_heap().totals.peak_bytes == nodes[0]["peak_bytes"]
    below = [0] * len(nodes)
    for place, node in enumerate(nodes[1:], 1):
        assert node["parent"] < place
        below[node["parent"]] += node["total"]
    assert all(n["total"] == n["own"] + rest for n, rest in zip(nodes, below, strict=True))
    assert document(run, sample_heap(), "flamegraph", "x", "--min", "0") == found


def test_classes_hold_all_live_blocks(run: Run) -> None:
    for command in ("sizes", "ages"):
        for fine in ((), ("--fine",)):
            found = document(run, historic_heap(), command, "x", "--group", "function", *fine)
            assert found["schema"] == f"heapglass.{command}/1"
            assert found["live_blocks"] == 674 == sum(c["live_blocks"] for c in found["classes"])
            assert sum(row["live_bytes"] for row in found["rows"]) == found["live_bytes"]
            for row in found["rows"]:
                assert len(row["counts"]) == len(found["classes"])
                assert sum(row["counts"]) == row["live_blocks"]


def test_what_a_moment_does_not_know_is_null(run: Run) -> None:
    found = document(run, historic_heap(), "table", "x@2s")
    assert found["sum"]["peak_bytes"] is None
    assert found["sum"]["live_bytes"] == 12_408_319
    assert all(site["temporary"] is None for site in found["sites"])
    totals = document(run, historic_heap(), "summary", "x@2s")["totals"]
    unknown = {"peak_bytes", "peak_time", "temporary", "reallocs", "usable_live_bytes"}
    assert {name for name, value in totals.items() if value is None} == {
        *unknown,
        "slack_bytes",
        "peak_difference_bytes",
    }
    assert totals["live_bytes"] == 12_408_319
    at_peak = document(run, historic_heap(), "tree", "x@peak", "--min", "0")
    assert at_peak["nodes"][0]["allocations"] is None
    assert at_peak["nodes"][0]["live_bytes"] == historic_heap().totals.peak_bytes


def test_leaks_say_how_certain_they_are(run: Run) -> None:
    found = document(run, historic_heap(), "leaks", "x")
    by_site = {leak["sites"][0]["id"]: leak["certainty"] for leak in found["leaks"]}
    assert by_site == {2: "growing", 3: "kept", 4: "kept", 7: "kept", 5: "recent"}
    (left_out,) = found["left_out"]
    assert left_out["built_in"]
    assert left_out["live_bytes"] == 1_024
    assert found["growth_known"]


def test_of_a_moment_nobody_knows_ages(run: Run) -> None:
    found = document(run, historic_heap(), "leaks", "x@2s")
    assert {leak["oldest"] for leak in found["leaks"]} == {None}
    assert (found["growing"], found["freed_at_end"]) == (1, None)


def test_a_rebuilt_program_is_still_the_same(run: Run) -> None:
    found = document(run, sample_heap(), "diff", "x", "later")
    changes = {(row["change"], row["delta"]) for row in found["rows"]}
    assert changes == {
        ("grown", 4_000_000),
        ("shrunk", -1_000_000),
        ("new", 100_000),
        ("gone", -4_096),
    }
    counts = {one["change"]: one["count"] for one in found["changes"]}
    assert counts == {"new": 1, "grown": 1, "shrunk": 1, "gone": 1, "same": 2}
    delta = found["after"]["totals"]["peak_bytes"] - found["before"]["totals"]["peak_bytes"]
    assert delta == sum(one["peak_delta"] for one in found["changes"])


def test_every_key_is_documented(run: Run) -> None:
    documented = set(re.findall(r"^\| `(\w+)`", DOCS.read_text(encoding="utf-8"), re.MULTILINE))
    found: set[str] = set()
    for heap in (sample_heap(), lossy_heap(), running_heap(), sampled_heap(), empty_heap()):
        found |= keys(document(run, heap, "summary", "x"))
        found |= keys(document(run, heap, "table", "x"))
        found |= keys(document(run, heap, "table", "x", "--group", "file"))
        found |= keys(document(run, heap, "doctor", "x"))
    found |= view_keys(run)
    found |= keys(document(run, freed_heap(), "leaks", "x"))
    found |= keys(machine_document([Finding(Severity.OK, "system", "Fine.")]))
    found |= keys(cell_document(CELL_COSTS, PLAN, MODES))
    found |= keys(program_document(["app"], PROGRAM_COSTS, MODES[:3]))
    found |= keys(log_document(sample_log()))
    assert found == documented
