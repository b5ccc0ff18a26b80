"""Exports of real recordings, read by those they are made for."""

from __future__ import annotations

import doctest
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest

import heapglass
from harness.cli import TIMEOUT_SECONDS, Cli
from harness.programs import program

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "examples" / "leaky_server.c"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A directory with two recordings of one program, and the tables of both."""
    directory = tmp_path_factory.mktemp("server")
    cli = Cli(directory)
    build = ["gcc", "-g", "-O2", "-pthread", str(SERVER), "-o", "leaky_server"]
    subprocess.run(build, cwd=directory, check=True)
    for name in ("server", "before"):
        options = ("--snapshot-churn", "256k", "-o", f"{name}.heapglass")
        done = cli("run", *options, "--", "./leaky_server")
        assert done.returncode == 0, done.stderr
        assert cli("export", "-F", "parquet", f"{name}.heapglass").returncode == 0
    return cli


@pytest.mark.parametrize("mode", [0o600, 0o644])
@pytest.mark.parametrize(
    ("arguments", "made"),
    [
        (("export", "-F", "pprof", "-o", "s.out"), ["s.out"]),
        (("export", "-F", "csv", "-o", "dir.out"), ["dir.out/sites.csv", "dir.out/threads.csv"]),
        (("report", "-o", "s.out"), ["s.out"]),
        (("pack", "-o", "s.out"), ["s.out"]),
    ],
)
def test_what_is_made_of_a_recording_is_for_its_readers(
    server: Cli, arguments: tuple[str, ...], made: list[str], mode: int
) -> None:
    """Whoever may read the recording; the umask, which may take more away, is as usual."""
    recording = server.directory / "server.heapglass"
    was = stat.S_IMODE(recording.stat().st_mode)
    assert was == 0o600
    recording.chmod(mode)
    try:
        done = server(arguments[0], "-f", *arguments[1:], recording.name)
    finally:
        recording.chmod(was)
    assert done.returncode == 0, done.stderr
    umask = os.umask(0)
    os.umask(umask)
    for name in made:
        assert stat.S_IMODE((server.directory / name).stat().st_mode) == mode & ~umask


def exported(cli: Cli, *arguments: str) -> Path:
    out = cli.directory / "out"
    done = cli("export", *arguments, "--force", "-o", str(out), "server.heapglass")
    assert done.returncode == 0, done.stderr
    return out


def asked(*command: str | Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env=os.environ | {"PPROF_BINARY_PATH": "/nowhere"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


# ---- pprof


@pytest.mark.parametrize(
    ("index", "column"),
    [
        ("alloc_objects", "allocations"),
        ("alloc_space", "bytes_allocated"),
        ("inuse_objects", "live_blocks"),
        ("inuse_space", "live_bytes"),
        ("peak_space", "peak_bytes"),
    ],
)
def test_pprof_counts_the_same(server: Cli, index: str, column: str) -> None:
    profile = exported(server, "-F", "pprof")
    unit = "-unit=B" if index.endswith("space") else "-unit=count"
    tool = ("go", "tool", "pprof", "-symbolize=none", f"-sample_index={index}", unit)
    top = asked(*tool, "-top", "-nodefraction=0", profile)
    heap = heapglass.open(server.directory / "server.heapglass")
    total = re.search(r"of (\d+)B? total", top)
    assert total
    assert int(total[1]) == int(heap.sites.columns[column].sum())
    by_function: dict[str, int] = {}
    for line in re.findall(r"^ +(\d+)B? +[\d.]+% .* (\S+?)(?: \(inline\))?$", top, re.MULTILINE):
        by_function[line[1]] = int(line[0])
    inner = heap.frames.function[heap.stacks.frame[heap.stacks.depth == 0] - 1]
    sites = heap.sites
    for function in ("strdup", "getdelim"):
        assert by_function[function] == int(sites.columns[column][inner == function].sum())


def test_pprof_knows_lines_inlining_and_build_ids(server: Cli) -> None:
    tool = ("go", "tool", "pprof", "-symbolize=none")
    raw = asked(*tool, "-raw", exported(server, "-F", "pprof"))
    heap = heapglass.open(server.directory / "server.heapglass")
    main = heap.modules.is_main.argmax()
    assert f"leaky_server {heap.modules.build_id[main]}" in raw
    source = SERVER.read_text().splitlines()
    lines = [int(n) for n in re.findall(r"leaky_server\.c:(\d+)", raw)]
    assert any("strdup" in source[line - 1] for line in lines)
    traces = asked(*tool, "-traces", "-sample_index=alloc_space", server.directory / "out")
    assert re.search(r"cache_put \(inline\)\n +handle_request\n +serve_connection\n", traces)


# ---- massif


def test_ms_print_shows_the_peak(server: Cli) -> None:
    shown = asked("ms_print", exported(server, "-F", "massif"))
    sites = heapglass.open(server.directory / "server.heapglass").sites
    assert "Command:            ./leaky_server" in shown
    assert "(peak)" in shown
    peak = f"{int(sites.peak_bytes.sum()):,}"
    assert re.search(rf"^ +\d+ +[\d,]+ +[\d,]+ +{peak} ", shown, re.MULTILINE)
    assert f"({peak}B) (heap allocation functions) malloc" in shown
    assert "serve_connection (leaky_server.c:" in shown
    assert "Deep recursion" not in shown


def test_ms_print_takes_deep_stacks(cli: Cli) -> None:
    argv = program("recursion").argv()
    assert cli("run", "-o", "deep.heapglass", "--", *argv).returncode == 0
    assert cli("export", "-F", "massif", "deep.heapglass").returncode == 0
    assert "Deep recursion" not in asked("ms_print", cli.directory / "deep.massif")


# ---- tables


def sql_blocks() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "tables.md").read_text(), re.DOTALL)


def test_there_are_queries() -> None:
    assert len(sql_blocks()) >= 12


@pytest.mark.parametrize("number", range(len(sql_blocks())))
def test_documented_queries_answer(
    server: Cli, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(server.directory)
    with duckdb.connect() as connection:
        assert connection.execute(sql_blocks()[number]).fetchall()


def test_queries_agree_with_the_recording(server: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(server.directory)
    heap = heapglass.open("server.heapglass")
    first = sql_blocks()[0].replace("LIMIT 10", "")
    with duckdb.connect() as connection:
        peaks = connection.execute(first).fetchall()
        blocks = connection.execute("FROM 'server.parquet/blocks.parquet'").fetchall()
    assert sum(row[2] for row in peaks) == int(heap.sites.peak_bytes.sum())
    assert len(blocks) == int(heap.totals.live_blocks[0])


def test_hashes_last_from_run_to_run(server: Cli) -> None:
    one, other = (
        heapglass.open(server.directory / f"{name}.heapglass") for name in ("server", "before")
    )
    hashes = [set(heap.sites.hash[heap.sites.function == "cache_insert"]) for heap in (one, other)]
    assert hashes[0]
    assert hashes[0] == hashes[1]


# ---- pmem


def test_pmem_names_functions_as_the_binary_does(server: Cli) -> None:
    text = exported(server, "-F", "pmem").read_text()
    heap = heapglass.open(server.directory / "server.heapglass")
    last = text.rpartition("\n[")[2]
    live = dict(re.findall(r"\{([0-9a-f]{16})\} live:(\d+)", last))
    sites = heap.sites
    expected = dict(zip(sites.hash.tolist(), sites.live_bytes.tolist(), strict=True))
    assert {key: int(value) for key, value in live.items() if int(value)} == {
        key: value for key, value in expected.items() if value
    }
    frames = re.findall(r"\{\d+\} \S*/leaky_server\((\w+)\+0x([0-9a-f]+)\) \[0x(\w+)\]", text)
    symbols = {
        fields[2]: int(fields[0], 16)
        for fields in map(str.split, asked("nm", server.directory / "leaky_server").splitlines())
        if len(fields) == 3
    }
    bias = int(heap.modules.bias[heap.modules.is_main.argmax()])
    assert {"serve_connection", "handle_request"} <= {name for name, _, _ in frames}
    for name, offset, address in frames:
        assert int(address, 16) - bias == symbols[name] + int(offset, 16)


# ---- notebooks


def test_documented_examples_run(server: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(server.directory)
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    result = doctest.testfile(
        str(ROOT / "docs" / "notebook.md"), module_relative=False, optionflags=flags
    )
    assert result.attempted > 20
    assert result.failed == 0


@pytest.fixture
def waiting(cli: Cli) -> Iterator[subprocess.Popen[str]]:
    """A recorded process that holds memory and waits for its input to end."""
    script = ["-e", '$x = "y" x 1000000; $| = 1; print "ready\n"; <STDIN>']
    process = cli.start("run", "-q", "-o", "perl.heapglass", "--", "perl", *script)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    yield process
    process.communicate("\n", timeout=TIMEOUT_SECONDS)


@pytest.mark.usefixtures("waiting")
def test_open_a_running_process(cli: Cli) -> None:
    by_path = heapglass.open(cli.directory / "perl.heapglass")
    with heapglass.open(by_path.process.pid) as heap:
        assert heap.process.state == "running"
        assert os.path.samefile(heap.name, by_path.name)
        assert np.any(heap.blocks.size >= 1_000_000)


# ---- sampled


def test_sampled_recordings_say_so(server: Cli) -> None:
    options = ("--sample", "16k", "-o", "sampled.heapglass")
    assert server("run", *options, "--", "./leaky_server").returncode == 0
    done = server("export", "-F", "pprof", "--force", "sampled.heapglass")
    assert done.returncode == 0
    assert "Sampled once in about 16.0 KiB" in done.stderr
    comments = asked("go", "tool", "pprof", "-comments", server.directory / "sampled.pb.gz")
    assert "Sampled once in about 16.0 KiB" in comments
    done = server("export", "-F", "massif", "--force", "sampled.heapglass")
    assert "Sampled" in asked("ms_print", server.directory / "sampled.massif")
