"""Marks and annotated blocks: what the program says of itself, kept apart from what was seen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.cli import Cli
from harness.consistency import contradictions
from harness.counters import by_name
from harness.names import function_names, site_name
from harness.programs import program
from harness.running import under_heapglass
from heapglass.convert.recording import write_recording
from heapglass.model import HeapSource, LossKind
from heapglass.recording import open_recording

ANNOTATED = program("annotated")
INCLUDE = Path(__file__).parents[2] / "native" / "include"
ARENA = 100_000


def parent_and_child(bench: Bench, **settings: str) -> tuple[HeapSource, HeapSource]:
    recordings = bench.compare(ANNOTATED.argv(), under_heapglass(**settings)).recordings
    parent, child = sorted(recordings, key=lambda r: r.process.is_forked)
    return parent, child


def annotated(source: HeapSource) -> dict[str, tuple[int, ...]]:
    """Blocks allocated and freed, bytes allocated and live, by the function that told of them."""
    table = source.annotated()
    names = [site_name(function_names(source, site)) for site in table.id.tolist()]
    columns = (table.allocations, table.frees, table.bytes_allocated, table.live_bytes)
    return {
        name: tuple(
            sum(int(column[row]) for row, other in enumerate(names) if other == name)
            for column in columns
        )
        for name in names
    }


EXPECTED = {
    "site_single": (50, 50, 500, 0),
    "site_pool": (100, 50, 600, 200),
    "site_thread": (4004, 4000, 12020, 20),
    "site_again": (2, 1, 150, 80),
}


@pytest.mark.parametrize("settings", [{}, {"HEAPGLASS_SAMPLE": "256"}])
def test_blocks_are_counted_by_who_told(bench: Bench, settings: dict[str, str]) -> None:
    parent, child = parent_and_child(bench, **settings)
    assert annotated(parent) == EXPECTED
    assert annotated(child) == {"site_child": (1, 0, 11, 11)}
    assert parent.losses.events(LossKind.MISSED_FREE) == 1
    assert contradictions(parent) == []


def test_they_are_in_no_total_and_no_other_table(bench: Bench) -> None:
    parent, _ = parent_and_child(bench)
    assert set(by_name(parent)).isdisjoint(EXPECTED)
    assert parent.totals.peak_bytes >= ARENA
    sites = parent.sites()
    assert parent.totals.bytes_allocated == sites.bytes_allocated.sum()
    assert parent.size_histogram().total == sites.allocations.sum()
    assert not set(parent.annotated().id.tolist()) & set(sites.id.tolist())
    assert not set(parent.annotated().id.tolist()) & set(parent.blocks().site.tolist())
    for table in parent.sites_by_shard().values():
        assert not set(parent.annotated().id.tolist()) & set(table.id.tolist())
    for snapshot in parent.snapshots():
        assert not set(parent.annotated().id.tolist()) & set(snapshot.site.tolist())


def test_their_share_of_the_peak(bench: Bench) -> None:
    """The arena is the peak, and all of them live inside it: live when it was reached is none."""
    parent, _ = parent_and_child(bench)
    assert parent.annotated().peak_bytes.sum() <= parent.annotated().bytes_allocated.sum()
    site = int(parent.annotated().id[0])
    assert parent.size_histogram(site).total == parent.annotated().allocations[0]


def test_marks(bench: Bench) -> None:
    parent, child = parent_and_child(bench)
    marks = parent.marks()
    assert [mark.name for mark in marks] == ["start", "threads\n\x1b[1m", "mark"]
    assert [mark.name for mark in child.marks()] == ["in the child"]
    times = [mark.time_ns for mark in marks]
    assert times == sorted(times)
    assert times[-1] <= parent.process.duration_ns
    assert set(times) <= set(parent.timeline().time_ns.tolist())


def test_they_are_shown(bench: Bench, cli: Cli) -> None:
    parent, _ = parent_and_child(bench)
    shown = cli("summary", parent.name).stdout
    assert "Annotated by the program" in shown
    assert "annotated 4,156 blocks of its own allocators" in " ".join(shown.split())
    assert "Marks  3" in shown
    assert "\x1b" not in shown
    document = json.loads(cli("summary", "--json", parent.name).stdout)
    assert [mark["name"] for mark in document["marks"]] == ["start", "threads\n\x1b[1m", "mark"]
    assert sum(site["live_bytes"] for site in document["annotated"]) == 300
    for site in document["annotated"]:
        assert site["stack"][site["responsible"]]["function"].startswith("site_")
    assert "threads\\n" in cli("timeline", parent.name).stdout
    then = " ".join(cli("table", f"{parent.name}@mark").stdout.split())
    assert "the mark 'mark' at" in then
    rows = cli("export", "-F", "csv", "--table", "marks", "-o", "-", parent.name).stdout
    assert rows.startswith("time_ns,name\n")
    assert rows.endswith(",mark\n")
    listed = cli("table", parent.name).stdout
    assert "annotated 4,156 blocks" in " ".join(listed.split())
    assert "300 B live from" in listed
    assert "Annotated by the program" not in cli("table", "--filter", "main", parent.name).stdout


def test_a_conversion_takes_them_along(bench: Bench, tmp_path: Path) -> None:
    parent, _ = parent_and_child(bench)
    copy = tmp_path / "copy.heapglass"
    write_recording(parent, copy)
    with open_recording(copy) as converted:
        assert annotated(converted) == annotated(parent)
        assert converted.marks() == parent.marks()
        assert converted.totals.bytes_allocated == parent.totals.bytes_allocated


def test_a_redacted_copy_has_marks_without_their_names(bench: Bench, cli: Cli) -> None:
    parent, _ = parent_and_child(bench)
    done = cli("pack", "--redact", "-o", "packed", parent.name)
    assert done.returncode == 0, done.stderr
    document = json.loads(cli("summary", "--json", "packed").stdout)
    names = [mark["name"] for mark in document["marks"]]
    assert len(names) == 3
    assert "start" not in names
    assert sum(site["live_bytes"] for site in document["annotated"]) == 300


@pytest.mark.parametrize(
    "compiler",
    ["cc -std=c89", "cc -std=c99", "c++ -std=c++98", "c++ -std=c++11", "c++ -std=c++20"],
)
def test_the_header_alone_does_nothing(tmp_path: Path, compiler: str) -> None:
    """In C and C++, with nothing linked and the library not there."""
    source = tmp_path / ("use.c" if compiler.startswith("cc") else "use.cc")
    source.write_text(
        "#include <heapglass.h>\n"
        "int main(void) {\n"
        '    int x; heapglass_mark("m"); heapglass_alloc(&x, 4); heapglass_free(&x);\n'
        "    heapglass_pool_alloc(&x, &x, 4); heapglass_pool_free(&x); return 0;\n"
        "}\n"
    )
    words = [*compiler.split(), "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
    subprocess.run([*words, source, "-o", tmp_path / "use"], check=True)
    assert subprocess.run([tmp_path / "use"], check=False).returncode == 0
