"""`heapglass export`: what it asks for, where it writes, what it says."""

from __future__ import annotations

import gzip
import json
import os
import pty
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import Cli
from heapglass.cli import main, scope, source
from heapglass.export.formats import FORMATS, Trait
from heapglass.export.making import TABLES
from heapglass.model import ProcessState
from unit.export.sample import SITES, History, heap, sampled_heap
from unit.fake_source import FakeNames


class Exporter:
    """Runs the command on a made-up heap in an empty directory."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capture = capfdbinary

    def __call__(
        self, *arguments: str, on: History | None = None, warnings: Sequence[str] = ()
    ) -> tuple[int, bytes, str]:
        opened = source.Opened(on or heap(), FakeNames(on or heap(), warnings))
        self._monkeypatch.setattr(scope, "open_source", lambda _argument: opened)
        code = main.main(["export", *arguments])
        out, err = self._capture.readouterr()
        return code, out, err.decode()


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> Exporter:
    monkeypatch.chdir(tmp_path)
    return Exporter(monkeypatch, capfdbinary)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_default_name(run: Exporter, name: str) -> None:
    code, out, err = run("-F", name, "/recordings/app.heapglass")
    path = Path(f"app.{FORMATS[name].suffix}")
    assert (code, out) == (0, b"")
    assert err == f"heapglass: wrote 5 sites to {path}\n"
    if Trait.TABLES in FORMATS[name].traits:
        files = {file.name for file in path.iterdir()}
        assert files == {f"{table}.{FORMATS[name].suffix}" for table in TABLES}
    else:
        assert path.stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "on",
    [heap(made_of=()), sampled_heap(), heap(state=ProcessState.RUNNING), heap(argv=())],
    ids=["empty", "sampled", "running", "nameless"],
)
def test_every_format_takes_every_heap(run: Exporter, name: str, on: History) -> None:
    code, _, err = run("-F", name, "-o", "out", "a", on=on)
    assert code == 0
    assert f"heapglass: wrote {len(on.sites())} sites to out\n" in err


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_overwritten_unasked(run: Exporter, name: str) -> None:
    assert run("-F", name, "-o", "out", "app.heapglass")[0] == 0
    code, _, err = run("-F", name, "-o", "out", "app.heapglass")
    assert code == 2
    assert "exists already: use --force to replace it" in err
    assert run("-F", name, "-o", "out", "--force", "app.heapglass")[0] == 0


def test_standard_output(run: Exporter) -> None:
    code, out, err = run("-F", "pprof", "-o", "-", "app.heapglass")
    assert (code, err) == (0, "")
    assert b"alloc_space" in gzip.decompress(out)
    assert run("-F", "csv", "--table", "losses", "-o", "-", "a")[1] == b"kind,events\n"
    assert json.loads(run("-F", "json", "-o", "-", "a")[1])["totals"][0]["pid"] == 4242
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give a SOURCE and a --format"),
        (("a",), "give a SOURCE and a --format"),
        (("-F", "svg", "a"), "invalid choice: 'svg'"),
        (("-F", "pprof", "--table", "sites", "a"), "pprof has no tables"),
        (("-F", "csv", "-o", "-", "a"), "choose one with --table"),
        (("-F", "csv", "--table", "nothing", "a"), "invalid choice: 'nothing'"),
        (("-F", "json", "--metric", "worst", "a"), "invalid choice: 'worst'"),
        (("-F", "json", "-o", ".", "a"), ". is a directory"),
        (("-F", "massif", "--thread", "app", "a"), "snapshots do not tell threads apart"),
        (("-F", "pmem", "--since", "1s", "a"), "use --until or SOURCE@MOMENT"),
        (("-F", "json", "--until", "1s", "a@2s"), "both say where to stop"),
        (("-F", "json", "--metric", "allocated", "a@peak"), "live, leaked are"),
    ],
)
def test_what_makes_no_sense(run: Exporter, arguments: tuple[str, ...], words: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, b"")
    assert words in err
    assert err.count("\n") == 1


def test_list(run: Exporter) -> None:
    out = run("--list")[1].decode()
    assert [line.split()[0] for line in out.splitlines()[: len(FORMATS)]] == list(FORMATS)


def test_caveats_are_told(run: Exporter) -> None:
    code, out, err = run("-F", "collapsed", "-o", "-", "a", on=sampled_heap())
    assert code == 0
    assert b"Sampled" not in out
    assert "heapglass: Sampled once in about 512 KiB" in err


def test_missing_names_are_told(run: Exporter) -> None:
    warnings = [f"lib{number}.so was replaced" for number in range(7)]
    err = run("-F", "collapsed", "-o", "-", "a", warnings=warnings)[2].splitlines()
    assert err[:5] == [f"heapglass: symbols: {warning}" for warning in warnings[:5]]
    assert err[5].startswith("heapglass: symbols: and 2 more")


def test_filters_and_minimum(run: Exporter) -> None:
    arguments = ("-F", "collapsed", "-o", "-", "--metric", "allocated", "a")
    assert len(run(*arguments)[1].splitlines()) == 5
    assert len(run("--filter", "function:grow", *arguments)[1].splitlines()) == 1
    assert len(run("--min", "1000", *arguments)[1].splitlines()) == 2


def test_binary_formats_are_not_for_terminals(cli: Cli) -> None:
    leader, terminal = pty.openpty()
    command = cli.argv("export", "-F", "pprof", "-o", "-", "none.heapglass")
    done = subprocess.run(
        command, stdout=terminal, stderr=subprocess.PIPE, env=cli.environment(), check=False
    )
    os.close(terminal)
    os.close(leader)
    assert done.returncode == 2
    assert b"pprof is not for terminals: use -o FILE, or a pipe" in done.stderr


def test_missing_library_is_a_sentence(
    run: Exporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.delitem(sys.modules, "heapglass.export.parquet", raising=False)
    code, _, err = run("-F", "parquet", "a")
    assert code == 1
    assert err == (
        "heapglass: this needs duckdb, which is not installed: pip install 'heapglass[parquet]'\n"
    )
    assert list(tmp_path.iterdir()) == []


_PARTS = {
    "moment": ("a@1s",),
    "peak": ("a@peak",),
    "window": ("--since", "1s", "--until", "2s", "a"),
    "to the end": ("--since", "2s", "a"),
    "thread": ("--thread", "app", "a"),
}


def _takes(name: str, part: str) -> bool:
    traits = FORMATS[name].traits
    is_window = part in ("window", "to the end")
    return not (Trait.HISTORY in traits and part == "thread") and not (
        Trait.FROM_START in traits and is_window
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "part"), [(name, part) for name in FORMATS for part in _PARTS if _takes(name, part)]
)
def test_every_format_takes_parts(run: Exporter, name: str, part: str) -> None:
    code, _, err = run("-F", name, "-o", "out", *_PARTS[part])
    assert code == 0
    assert "heapglass: Not known of this part" in err or part == "thread"


def test_a_moment_is_as_its_snapshot_has_it(run: Exporter) -> None:
    tables = json.loads(run("-F", "json", "-o", "-", "a@1s")[1])
    assert {row["id"]: row["live_bytes"] for row in tables["sites"]} == {2: 500, 3: 10}
    assert {row["time_ns"] for row in tables["snapshots"]} == {10**9}
    assert [row["time_ns"] for row in tables["timeline"]] == [0, 10**9]
    assert tables["totals"][0]["state"] == "running"
    assert "As it was after 1.0 s." in [row["sentence"] for row in tables["caveats"]]


def test_a_window_has_what_came_in_it(run: Exporter) -> None:
    tables = json.loads(run("-F", "json", "-o", "-", "--since", "1s", "--until", "2s", "a")[1])
    grown = {row["id"]: row["live_bytes"] for row in tables["sites"]}
    assert grown == {2: 0, 3: -10, 4: 30_000}
    assert tables["blocks"] == []  # all were allocated before
    err = run("-F", "collapsed", "-o", "-", "--since", "1s", "--until", "2s", "a")[2]
    assert "Sites that went down by 10 B in all have no width" in err


def test_functions_of_a_window(run: Exporter) -> None:
    arguments = ("-F", "collapsed", "-o", "-", "--since", "1s", "--function", "load", "a")
    _, lines, err = run(*arguments)
    assert "went down" not in err
    assert [line.split()[-1] for line in lines.splitlines()] == [b"30000", b"10"]


def test_a_part_has_no_values_that_are_not_known(run: Exporter) -> None:
    profile = gzip.decompress(run("-F", "pprof", "-o", "-", "a@1s")[1])
    assert b"inuse_space" in profile
    assert b"peak_space" not in profile
    profiles = json.loads(run("-F", "speedscope", "-o", "-", "a@peak")[1])["profiles"]
    assert [one["name"] for one in profiles] == ["live bytes"]


def test_massif_ends_at_the_moment(run: Exporter) -> None:
    lines = run("-F", "massif", "-o", "-", "a@1s")[1].decode().splitlines()
    assert [line for line in lines if line.startswith("time=")][-1] == "time=1000"
    assert [line for line in lines if line.startswith("mem_heap_B=")][-1] == "mem_heap_B=510"


def test_threads_have_their_sites_and_blocks(run: Exporter) -> None:
    on = heap(
        made_of=[replace(site, shard=number % 2) for number, site in enumerate(SITES)],
        thread_names=(("app", 0), ("worker", 1)),
    )
    code, out, err = run("-F", "json", "-o", "-", "--thread", "worker", "a", on=on)
    tables = json.loads(out)
    assert code == 0
    assert {row["id"] for row in tables["sites"]} == {3, 5}
    assert tables["blocks"] == []
    assert [row["name"] for row in tables["threads"]] == ["worker"]
    assert "do not tell threads apart: they are of all" in err


def test_a_part_names_its_file(run: Exporter) -> None:
    run("-F", "collapsed", "/recordings/app.heapglass@1s")
    assert [path.name for path in Path().iterdir()] == ["app@1s.folded"]


def test_a_mark_is_a_moment(run: Exporter) -> None:
    Path("app@b.heapglass").touch()
    assert run("-F", "collapsed", "app@b.heapglass@done")[0] == 0
    assert Path("app@b@done.folded").exists()
    code, _, err = run("-F", "collapsed", "-o", "-", "app@b.heapglass@gone")
    assert code == 2
    assert "'gone' is not a moment" in err


def test_notes_stay_out_of_the_data_where_standard_error_is_closed(
    run: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("-F", "collapsed", "-o", "-", "x")
    _, data, notes = run(*arguments, on=sampled_heap())
    assert notes
    monkeypatch.setattr(sys, "stderr", None)
    assert run(*arguments, on=sampled_heap()) == (0, data, "")
