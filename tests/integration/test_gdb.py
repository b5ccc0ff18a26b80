"""The gdb extension, in the real gdb: on cores, in a live process, and the tutorial's walk."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.cores import Waiting, waiting
from harness.programs import program
from harness.running import TIMEOUT_SECONDS


def extension(cli: Cli) -> str:
    return cli("gdb").stdout.strip()


def debug(cli: Cli, commands: Sequence[str], *target: str | Path) -> str:
    """What gdb prints for the commands."""
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", "-x", extension(cli), *words, *map(str, target)],
        cwd=cli.directory,
        env=cli.environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_walk_through_the_tutorial(cli: Cli, tmp_path: Path) -> None:
    """Run it, dump it, list it, inspect it: what malloc_tracer's text does with chap and gdb."""
    with Waiting([program("hello_world").path()], tmp_path) as running:
        line = running.line()
        core = running.gcore("app.dump")
    said = re.fullmatch(r"Pid (\d+) 0 big100Mb is 0x([0-9a-f]+); addr10Mb is 0x([0-9a-f]+)", line)
    assert said
    pid, big, ten = said.groups()
    assert int(pid) == running.pid
    listed = cli("core", core, "list", "used").stdout.splitlines()
    # Since glibc 2.43 mmapped blocks have eight bytes less to use.
    less = 0 if f"Used allocation at {ten} of size a00ff0" in listed else 8
    for at, size in ((ten, 0xA00FF0 - less), (big, 0x6400FF0 - less)):
        assert f"Used allocation at {at} of size {size:x}" in listed
    small = next(line for line in listed if re.fullmatch("Used allocation at .* of size 18", line))
    address = small.split()[3]
    # 100 MiB, 10 MiB, 19 and 500 bytes, as glibc rounds them
    total = 0x6400FF0 + 0xA00FF0 - 2 * less + 0x18 + 0x1F8
    assert listed[-1] == f"4 allocations use {total:#x} ({total:,}) bytes."
    shown = debug(
        cli,
        [
            f"x/s 0x{ten}",
            f"heapglass hexdump 0x{address} 2",
            f"heapglass block 0x{address}",
            "heapglass total",
        ],
        program("hello_world").path(),
        core,
    )
    assert '"big10Mb. A lot of data"' in shown
    assert f"{address}  19 31 39 72 74 79 75 69  31 39 00" in shown
    assert "|.19rtyui19......|" in shown
    assert "19 bytes asked for" in shown
    assert "make_struct19" in shown


def test_a_process_without_a_recording(cli: Cli, tmp_path: Path) -> None:
    """Its core has the tables; of the live process gdb says that there is none, and why."""
    with waiting(tmp_path, HEAPGLASS_OUT="none") as running:
        truth = running.truth()
        said = debug(cli, ["heapglass total"], "-p", str(running.pid))
        core = running.gcore()
    assert "this process has no recording, as none was wanted (HEAPGLASS_OUT=none)" in said
    total = sum(kept.asked for kept in truth.blocks.values())
    shown = debug(cli, ["heapglass total"], program("cores").path(), core)
    assert f"{len(truth.blocks)} blocks, {total:#x}" in shown


@pytest.mark.parametrize("target", ["live", "core"])
def test_totals_by_name(tmp_path: Path, target: str) -> None:
    """No extension, no casts."""
    executable = program("hello_world").path()
    names = ["allocs", "allocated_bytes", "frees", "freed_bytes"]
    with Waiting([executable], tmp_path) as running:
        running.line()
        core = running.gcore()
        of = [executable, core] if target == "core" else ["-p", running.pid]
        words = [word for name in names for word in ("-ex", f"print heapglass_total_{name}")]
        shown = subprocess.run(
            ["gdb", "-q", "-nx", "-batch", *words, *map(str, of)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=True,
        ).stdout
    values = [int(value) for value in re.findall(r"^\$\d+ = (\d+)$", shown, re.MULTILINE)]
    asked = (100 << 20) + (10 << 20) + 19 + 500 + 300
    assert values == [5, asked, 1, 300]


@pytest.mark.parametrize("is_stripped", [False, True])
@pytest.mark.parametrize("target", ["live", "core"])
def test_all_commands(cli: Cli, tmp_path: Path, target: str, is_stripped: bool) -> None:  # noqa: FBT001
    executable = program("cores").path()
    if is_stripped:
        executable = str(tmp_path / Path(executable).name)
        subprocess.run(["strip", "-o", executable, program("cores").path()], check=True)
    module = Path(executable).name
    with Waiting([executable], tmp_path) as running:
        truth = running.truth()
        core = running.gcore()
        of = [executable, core] if target == "core" else ["-p", running.pid]
        address = next(a for a, kept in truth.blocks.items() if kept.site == "site_large")
        total = debug(cli, ["heapglass total", f"heapglass total {module}"], *map(str, of))
        sums = f"{len(truth.blocks)} blocks, {sum(k.asked for k in truth.blocks.values()):#x}"
        assert total.count(sums) == 2
        function = "site_large"
        if is_stripped:
            found = re.search(r"\S+\+0x[0-9a-f]+", total)
            assert found
            function = found[0]
        shown = debug(
            cli,
            [
                f"heapglass blocks {module} {function}",
                f"heapglass block {address + 100:#x}",
                f"heapglass hexdump {address:#x} 1",
                "heapglass free",
                "heapglass free count",
                "heapglass free detailed",
                "heapglass top 2",
            ],
            *map(str, of),
        )
    assert " allocations use 0x" in shown
    assert f"{address + 100:x} is 0x64 bytes into the used allocation at {address:x}" in shown
    assert f"{address:x}  78 78 78 78" in shown
    free = re.findall(r"^([\d,]+) free blocks hold 0x", shown, re.MULTILINE)
    assert len(free) == 3
    detailed = re.findall(
        r"^Free block at [0-9a-f]+ of size [0-9a-f]+ \((?!top)", shown, re.MULTILINE
    )
    assert {int(count.replace(",", "")) for count in free} == {len(detailed)}
    assert "2 of " in shown


def test_free_is_the_same_in_gdb_and_outside(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path, threads=2) as running:
        running.truth()
        live = debug(cli, ["heapglass free"], "-p", str(running.pid))
        core = running.gcore()
    outside = cli("core", core, "free").stdout
    assert outside in live
    assert outside in debug(cli, ["heapglass free"], program("cores").path(), core)


def test_help_and_completion(cli: Cli) -> None:
    shown = debug(cli, ["help heapglass", "complete heapglass ", "complete heapglass free "])
    for name in ("total", "blocks", "free", "block", "hexdump", "top"):
        assert f"heapglass {name} -- " in shown
        assert f"\nheapglass {name}\n" in shown
        assert f"heapglass {name}" in debug(cli, [f"help heapglass {name}"])
    assert "heapglass free count\nheapglass free detailed" in shown
    completed = debug(cli, ["complete heapglass total co"], program("cores").path())
    assert f"heapglass total {Path(program('cores').path()).name}" in completed


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("heapglass total", "there is neither a process nor a core to look at"),
        ("heapglass free", "there is neither a process nor a core to look at"),
        ("heapglass free all", "it is 'heapglass free [count|detailed]'"),
        ("heapglass blocks x", "it is 'heapglass blocks MODULE FUNCTION'"),
        ("heapglass frob", "there is no 'heapglass frob'"),
    ],
)
def test_what_cannot_be_answered_is_said(cli: Cli, command: str, sentence: str) -> None:
    shown = debug(cli, [command])
    assert shown.strip() == sentence


def test_what_is_no_address_is_said(cli: Cli) -> None:
    shown = debug(cli, ["heapglass block nosuch"], program("cores").path())
    assert shown.strip() == "'nosuch' is no address: No symbol \"nosuch\" in current context."


def test_arrays_and_functions_are_where_they_begin(cli: Cli, tmp_path: Path) -> None:
    """As for gdb's own command x."""
    commands = [
        "heapglass hexdump blocks 1",
        "heapglass hexdump &blocks 1",
        "heapglass hexdump main 1",
        "heapglass hexdump &main 1",
        "heapglass hexdump blocks[0] 1",
    ]
    with waiting(tmp_path) as running:
        running.truth()
        shown = debug(cli, commands, "-p", str(running.pid))
    array, its_address, function, its_address_too = re.findall(r"^.*\|$", shown, re.MULTILINE)
    assert array == its_address
    assert function == its_address_too
    assert shown.splitlines()[-1].startswith("'blocks[0]' is no address: ")


def test_each_sentence_has_a_line(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path, HEAPGLASS_SAMPLE="8k") as running:
        running.truth()
        core = running.gcore()
    executable = Path(program("cores").path())
    shown = debug(cli, [f"heapglass blocks {executable.name} site_large"], executable, core)
    assert "\n! The tables are not in the core" in shown
    assert "\n! Sampled once in about 8.0 KiB" in shown
    assert "heapglass: " not in shown


def test_a_process_without_heapglass(cli: Cli) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            shown = debug(cli, ["heapglass total"], "-p", str(sleeper.pid))
        finally:
            sleeper.kill()
    assert "this process does not run under heapglass" in shown
