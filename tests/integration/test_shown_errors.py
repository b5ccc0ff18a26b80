"""Every view and format of a sampled recording says so, at which interval, and how far off its
numbers may be; of an exact one none does."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.programs import program
from harness.running import run, under_heapglass
from heapglass import open as open_heap
from heapglass.cli.main import main

ESTIMATES = program("estimates")
SAID = "Sampled once in about 1.0 KiB"
NO_ROOM = "This format has no room for standard errors"
WITH_ERRORS = (
    ("summary",),
    ("table",),
    ("table", "--group", "function"),
    ("table", "--group", "thread"),
    ("table", "--thread", "."),
    ("tree",),
    ("tree", "--callers", "--sort", "temporary"),
    ("flamegraph",),
    ("sizes", "--group", "site"),
    ("ages", "--fine", "--group", "function"),
    ("threads", "--function", "site_"),
    ("leaks",),
    ("leaks", "--min", "4k", "--group", "function"),
)
WITHOUT = (("threads",), ("timeline", "--top", "0"), ("doctor",))  # what they show is exact
DOCUMENTS = (*WITH_ERRORS, *WITHOUT)
STACKS = ("pprof", "speedscope", "massif", "trace", "collapsed", "pmem")


@dataclass(frozen=True, slots=True)
class Show:
    """The command, in this process: there are many calls."""

    directory: Path
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> tuple[str, str]:
        """What it says, on both of its outputs."""
        names = (str(self.directory / one) if ".heapglass" in one else one for one in words)
        assert main(list(names)) == 0
        out, err = self.capture.readouterr()
        return out, err


@pytest.fixture
def show(recordings: Path, capsys: pytest.CaptureFixture[str]) -> Show:
    return Show(recordings, capsys)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has sampled.heapglass and exact.heapglass of the same program."""
    directory = tmp_path_factory.mktemp("shown")
    modes: dict[str, dict[str, str]] = {
        "sampled": {"HEAPGLASS_SAMPLE": "1k", "HEAPGLASS_SEED": "3"},
        "exact": {},
    }
    for name, mode in modes.items():
        environment = under_heapglass(HEAPGLASS_OUT=f"{name}.heapglass", **mode)
        assert run(ESTIMATES.argv(), directory, environment).status == 0
    return directory


def said(show: Show, *words: str) -> str:
    return show(*words)[0]


@pytest.mark.parametrize("words", WITH_ERRORS, ids=" ".join)
def test_numbers_have_errors(show: Show, words: tuple[str, ...]) -> None:
    text = said(show, words[0], "sampled.heapglass", *words[1:])
    assert SAID in text
    assert "±" in text.partition("\n\n")[2]
    assert "±" not in said(show, words[0], "exact.heapglass", *words[1:])


@pytest.mark.parametrize("words", WITHOUT, ids=" ".join)
def test_exact_numbers_have_none(show: Show, words: tuple[str, ...]) -> None:
    text = said(show, words[0], "sampled.heapglass", *words[1:])
    assert SAID in " ".join(text.split())
    assert "±" not in text


def test_a_part_is_an_estimate_all_of_it(show: Show) -> None:
    text = said(show, "summary", "sampled.heapglass@peak")
    said_first = " ".join(text.split())
    assert f"{SAID}: sites are estimates and have standard errors, and so have totals" in said_first
    live = next(line for line in text.splitlines() if line.startswith("  Live "))
    assert live.count("±") == 2
    assert "totals are exact" not in text


def test_a_difference(show: Show) -> None:
    text = said(show, "diff", "exact.heapglass", "sampled.heapglass")
    assert f"! B: {SAID}" in text
    assert "! A: Sampled" not in text
    assert "±" in text
    assert "±" not in said(show, "diff", "exact.heapglass", "exact.heapglass", "--same")


def names_of_errors(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(names_of_errors, value))
    if not isinstance(value, dict):
        return set()
    mine = {name for name in value if name == "errors" or name.endswith("error")}
    return mine.union(*map(names_of_errors, value.values()))


@pytest.mark.parametrize("words", DOCUMENTS, ids=" ".join)
def test_documents(show: Show, words: tuple[str, ...]) -> None:
    sampled, exact = (
        json.loads(said(show, words[0], f"{name}.heapglass", *words[1:], "--json"))
        for name in ("sampled", "exact")
    )
    assert sampled["sampling"] == {"least_bytes": 1024, "most_bytes": 1024, "partly": False}
    assert bool(names_of_errors(sampled)) is (words in WITH_ERRORS)
    assert exact["sampling"] is None
    assert names_of_errors(exact) == set()


@pytest.mark.parametrize("name", STACKS)
def test_formats_without_room_say_so(show: Show, name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    _, told = show("export", "--format", name, "-o", str(out), "sampled.heapglass")
    assert SAID in told
    assert NO_ROOM in told
    data = gzip.decompress(out.read_bytes()) if name == "pprof" else out.read_bytes()
    has_comments = name not in ("collapsed", "pmem")
    assert (SAID.encode() in data) is has_comments
    assert (NO_ROOM.encode() in data) is has_comments
    _, told = show("export", "--format", name, "-o", str(tmp_path / "exact"), "exact.heapglass")
    assert NO_ROOM not in told


def test_threads_know_what_they_freed(show: Show) -> None:
    """By thread what the totals say for all; those of an exact recording in other bytes."""
    sampled, exact = (
        json.loads(said(show, "threads", f"{name}.heapglass", "--json"))["threads"]
        for name in ("sampled", "exact")
    )
    totals = json.loads(said(show, "summary", "sampled.heapglass", "--json"))["totals"]
    assert sum(row["bytes_freed"] for row in sampled) == totals["bytes_freed"] > 0
    assert sum(row["net_bytes"] for row in sampled) == totals["live_bytes"] > 0
    assert [row["frees"] for row in sampled] == [row["frees"] for row in exact]
    assert all(row["temporary"] is None for row in sampled)
    assert all(
        row["net_bytes"] == row["bytes_allocated"] - row["bytes_freed"] and row["temporary"] >= 0
        for row in exact
    )


def test_tables(show: Show) -> None:
    """What notebooks, parquet, csv and json have."""
    with open_heap(show.directory / "sampled.heapglass") as heap:
        assert ", sampled once in 1.0 KiB>" in repr(heap)
        assert any(SAID in one for one in heap.caveats)
        sites, blocks = heap.sites, heap.blocks
        assert float(heap.totals.temporary_error[0]) > 0
        live = np.zeros(int(sites.id.max()) + 1)
        np.add.at(live, blocks.site, blocks.weight * (blocks.weight - 1))
        assert np.sqrt(live[sites.id]) == pytest.approx(sites.live_blocks_error, rel=0.01, abs=0.5)
    with open_heap(show.directory / "exact.heapglass") as heap:
        assert "sampled" not in repr(heap).removeprefix("<heapglass.Heap exact.heapglass")
        assert not any(
            values.any() for name, values in heap.sites.columns.items() if "error" in name
        )
        assert (heap.blocks.weight == 1).all()
