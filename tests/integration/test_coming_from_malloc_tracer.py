"""malloc_tracer's walkthrough, step by step, with the real gcore and gdb; chap's part is ours."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.cli import Cli
from harness.cores import Waiting
from harness.programs import program
from harness.running import TIMEOUT_SECONDS

EXECUTABLE = program("hello_world").path()
ASKED = [100 << 20, 10 << 20, 19, 500, 300]  # the last one is freed again


@dataclass(frozen=True, slots=True)
class Dumped:
    """Steps 2 and 3: the example was run, and its dump taken."""

    pid: int
    big: str  # addresses, as the program printed them
    ten: str
    core: Path


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumped]:
    directory = tmp_path_factory.mktemp("output")
    with Waiting([EXECUTABLE], directory) as running:
        line = running.line()
        said = re.fullmatch(r"Pid (\d+) 0 big100Mb is 0x(\w+); addr10Mb is 0x(\w+)", line)
        assert said, line
        core = running.gcore("app.dump")
        core.chmod(0o777)
        yield Dumped(int(said[1]), said[2], said[3], core)


def gdb(core: Path, *commands: str) -> str:
    """Step 5: `gdb hello_world app.dump`."""
    words = [word for command in commands for word in ("-ex", command)]
    done = subprocess.run(
        ["gdb", "-q", "-nx", "-batch", *words, EXECUTABLE, str(core)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    return done.stdout


def small_block(cli: Cli, core: Path) -> str:
    """The address of the block of my_struct19."""
    used = cli("core", core, "list", "used").stdout
    return re.findall(r"^Used allocation at (\w+) of size 18$", used, re.MULTILINE)[0]


def test_step_4_the_dump_is_listed(cli: Cli, dumped: Dumped) -> None:
    lines = cli("core", dumped.core, "list", "used").stdout.splitlines()
    used = [line for line in lines if line.startswith("Used")]
    assert all(re.fullmatch(r"Used allocation at [0-9a-f]+ of size [0-9a-f]+", u) for u in used)
    of_size = f"Used allocation at {dumped.ten} of size a00f"
    assert f"{of_size}f0" in used or f"{of_size}e8" in used, "the latter since glibc 2.43"
    last = re.fullmatch(r"(\d+) allocations use 0x([0-9a-f]+) \(([\d,]+)\) bytes\.", lines[-1])
    assert last
    assert int(last[1]) == len(used) == 4
    sizes = [int(line.rpartition(" ")[2], 16) for line in used]
    assert int(last[2], 16) == int(last[3].replace(",", "")) == sum(sizes)


def test_step_6_totals_by_name(dumped: Dumped) -> None:
    shown = gdb(
        dumped.core, "print heapglass_total_allocs", "print heapglass_total_allocated_bytes"
    )
    values = re.findall(r"^\$\d+ = (\d+)$", shown, re.MULTILINE)
    assert [int(value) for value in values] == [len(ASKED), sum(ASKED)]


def test_step_6_by_the_names_of_the_text(dumped: Dumped) -> None:
    """They are what is live: the text's library subtracts what is freed."""
    shown = gdb(dumped.core, "print TOTAL_ALLOCS", "print TOTAL_ALLOCATED_BYTES")
    values = re.findall(r"^\$\d+ = (\d+)$", shown, re.MULTILINE)
    assert [int(value) for value in values] == [len(ASKED) - 1, sum(ASKED[:-1])]


def test_step_6_also_while_it_runs(dumped: Dumped) -> None:
    """No dump needed."""
    words = ["gdb", "-q", "-nx", "-batch", "-ex", "print heapglass_total_allocs"]
    shown = subprocess.run(
        [*words, "-p", str(dumped.pid)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    ).stdout
    assert f"$1 = {len(ASKED)}" in shown


def test_step_7_memory_is_inspected(cli: Cli, dumped: Dumped) -> None:
    address = small_block(cli, dumped.core)
    shown = gdb(dumped.core, f"x/s 0x{dumped.ten}", f"x/24xb 0x{address}")
    assert f'0x{dumped.ten}:\t"big10Mb. A lot of data"' in shown
    found = re.findall(r"\t0x(\w\w)", shown)
    assert bytes.fromhex("".join(found))[:19] == b"\x1919rtyui19".ljust(18, b"\0") + b"\x19"


def test_step_7_and_who_allocated_it(cli: Cli, dumped: Dumped) -> None:
    """The tool kept the caller's address behind each block; here the core's tables have the whole
    stack, the size that was asked for, the age and the thread."""
    address = small_block(cli, dumped.core)
    document = json.loads(cli("core", "--json", dumped.core, "block", f"0x{address}").stdout)
    stack = document["site"]["stack"]
    assert [frame["function"] for frame in stack][:2] == ["make_struct19", "main"]
    assert document["block"]["requested"] == 19
    assert [thread["tid"] for thread in document["block"]["threads"]] == [dumped.pid]
    shown = gdb(dumped.core, *(f"info symbol {frame['address']}" for frame in stack[:2]))
    assert re.search(r"^make_struct19 \+ \d+ in section \.text", shown, re.MULTILINE)
    assert re.search(r"^main \+ \d+ in section \.text", shown, re.MULTILINE)
