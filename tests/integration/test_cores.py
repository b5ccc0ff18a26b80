"""`heapglass core`: gcore's cores, the kernel's and crashes', against what the program knows."""

from __future__ import annotations

import json
import random
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cli import Cli
from harness.cores import Truth, Waiting, kernel_dumps_here, waiting
from harness.programs import program
from harness.running import library
from heapglass.coredump import open_core
from heapglass.coredump.arenas import NoArenas, find_arenas
from heapglass.coredump.chunks import State, walk_heap
from heapglass.coredump.core_file import CoreFile
from heapglass.coredump.memory import CoreMemory

_USED = re.compile(r"^Used allocation at ([0-9a-f]+) of size ([0-9a-f]+)$", re.MULTILINE)
_CLOSING = re.compile(r"^([\d,]+) allocations use 0x([0-9a-f]+) \(([\d,]+)\) bytes\.$")


def document(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    done = cli("core", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def compare(cli: Cli, core: Path, truth: Truth) -> dict[str, Any]:
    """The core's blocks, all the program's among them with the right sizes and owners."""
    found = document(cli, core, "list", "used")
    stacks = {site["id"]: [frame["function"] for frame in site["stack"]] for site in found["sites"]}
    blocks = {block["address"]: block for block in found["blocks"]}
    assert set(truth.blocks) <= set(blocks)
    for address, kept in truth.blocks.items():
        block = blocks[address]
        assert (block["requested"], block["size"]) == (kept.asked, kept.usable)
        assert kept.site in stacks[block["site"]]
    return found


TABLES = {
    "in the core": {"HEAPGLASS_CORE": "1"},
    "in its memory": {"HEAPGLASS_OUT": "none"},
    "beside it": {},
}


@pytest.mark.parametrize("tables", TABLES)
@pytest.mark.parametrize("threads", [0, 3])
def test_gcore(cli: Cli, tmp_path: Path, tables: str, threads: int) -> None:
    with waiting(tmp_path, threads, **TABLES[tables]) as running:
        truth = running.truth()
        core = running.gcore()
        if tables == "in the core":
            running.recording.unlink()
        found = compare(cli, core, truth)
        assert len(found["blocks"]) - len(truth.blocks) <= 2 * threads  # the C library's own
        assert found["caveats"] == [] or "agrees with the heap" in found["caveats"][0]


@pytest.mark.parametrize("tables", TABLES)
def test_a_crash(cli: Cli, tmp_path: Path, tables: str) -> None:
    with waiting(tmp_path, **TABLES[tables]) as running:
        truth = running.truth()
        core = running.crash()
    if tables == "in the core":
        running.recording.unlink()
    assert running.recording.exists() == (tables == "beside it")
    found = compare(cli, core, truth)
    # A process that gdb stopped has not ended yet.
    is_end = kernel_dumps_here()
    agrees = not is_end and tables == "beside it"
    assert [("agrees" in caveat) for caveat in found["caveats"]] == [True] * agrees
    summary = json.loads(cli("summary", "--json", core).stdout)
    ended = (summary["process"]["state"], summary["process"]["signal"])
    assert ended == (("signaled", 6) if is_end else ("running", None))
    assert summary["totals"]["live_blocks"] == len(truth.blocks)
    assert summary["totals"]["live_bytes"] == sum(kept.asked for kept in truth.blocks.values())


@pytest.mark.parametrize("threads", [0, 3])
def test_free_blocks_are_those_malloc_knows_of(cli: Cli, tmp_path: Path, threads: int) -> None:
    with waiting(tmp_path, threads) as running:
        running.ask("more")
        truth = running.truth()
        core = running.gcore()
    heap = walk_heap(CoreMemory(CoreFile(str(core))))
    assert heap.troubles == ()
    # mallinfo2 takes what is in threads' caches for used, and counts eight bytes of each chunk.
    free = [chunk for chunk in heap.chunks if chunk.state.is_free and chunk.state != State.CACHE]
    assert sum(chunk.size + 8 for chunk in free) == truth.free_bytes
    assert sum(chunk.state is State.MALLOC for chunk in heap.chunks) == 1 + threads
    assert any(chunk.state is State.CACHE for chunk in heap.chunks)
    shown = document(cli, core, "free")
    assert shown["arenas"] == 1 + threads
    assert shown["bytes"] + 8 * shown["blocks"] + shown["top_bytes"] + 8 * shown["arenas"] == sum(
        chunk.size + 8 for chunk in heap.chunks if chunk.state.is_free
    )


def test_a_heap_of_several_pieces(tmp_path: Path) -> None:
    """A thread's arena has heaps of 64 MiB, one behind the other."""
    with waiting(tmp_path, threads=1) as running:
        running.ask("fill")
        truth = running.truth()
        core = running.gcore()
    # One with a mapping of its own that the kernel has put right behind other memory is only found
    # by who knows of it, as a recording does.
    mapped = [address for address, kept in truth.blocks.items() if kept.site == "site_large"]
    heap = walk_heap(CoreMemory(CoreFile(str(core))), mapped)
    assert heap.troubles == ()
    used = {chunk.address: chunk.size for chunk in heap.chunks if chunk.state is State.USED}
    known = {address: kept.usable for address, kept in truth.blocks.items()}
    assert known.items() <= used.items()
    filled = [address for address, kept in truth.blocks.items() if kept.site == "site_fill"]
    assert len({address >> 26 for address in filled}) > 1
    free = [chunk for chunk in heap.chunks if chunk.state.is_free and chunk.state != State.CACHE]
    assert sum(chunk.size + 8 for chunk in free) == truth.free_bytes


def test_memory_of_others_in_the_heap(cli: Cli, tmp_path: Path) -> None:
    """A program may move its break itself: then glibc's chunks do not lie one behind the other."""
    with waiting(tmp_path) as running:
        running.ask("break")
        truth = running.truth()
        core = running.gcore()
        running.ask("more")
    (trouble,) = walk_heap(CoreMemory(CoreFile(str(core)))).troubles
    assert "was not walked to its end" in trouble
    found = document(cli, core, "list", "used")
    assert "cannot be compared" in found["caveats"][0]
    assert found["caveats"][1] == trouble
    assert len(found["blocks"]) > len(truth.blocks) * 3 // 4
    assert trouble in cli("core", core, "list", "used").stderr
    assert trouble in " ".join(cli("core", core, "totals").stdout.split())


def test_which_mappings_a_core_takes(tmp_path: Path) -> None:
    """The recording when it is asked for, and of it what is used: never gigabytes of holes."""
    filters = {}
    for wanted in ("0", "1"):
        directory = tmp_path / wanted
        directory.mkdir()
        with waiting(directory, HEAPGLASS_CORE=wanted) as running:
            running.truth()
            filters[wanted] = int(Path(f"/proc/{running.pid}/coredump_filter").read_text(), 16)
            flags = _dump_flags(running.pid)
        assert len(flags) == 2
        (_, first_left_out), (size, second_left_out) = flags
        assert (first_left_out, second_left_out) == (False, True)
        assert size > 1 << 30
    inherited = int(Path("/proc/self/coredump_filter").read_text(), 16)
    assert filters == {"0": inherited, "1": inherited | 8}


def _dump_flags(pid: int) -> list[tuple[int, bool]]:
    """Size of each mapping of the recording, and whether cores leave it out."""
    found = []
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        words = line.split()
        if "-" in words[0] and not words[0].endswith(":"):
            start, end = (int(edge, 16) for edge in words[0].split("-"))
            is_ours = words[-1].endswith(".heapglass")
        elif words[0] == "VmFlags:" and is_ours:
            found.append((end - start, "dd" in words))
    return found


def test_a_recording_that_moved_on(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        before = running.truth()
        core = running.gcore()
        running.ask("more")
    found = document(cli, core, "list", "used")
    assert "has moved on since" in found["caveats"][0]
    blocks = {block["address"]: block for block in found["blocks"]}
    assert set(blocks) == set(before.blocks)
    for number, (address, kept) in enumerate(before.blocks.items()):
        block = blocks[address]
        is_freed = number % 4 == 0
        # What lies at the place of a freed block now was made after the core.
        assert block["requested"] == (None if is_freed else kept.asked)
        assert block["size"] == kept.usable
    known = [block for block in found["blocks"] if block["site"] is not None]
    assert len(known) == len(blocks) - (len(blocks) + 3) // 4
    summary = json.loads(cli("summary", "--json", core).stdout)
    assert summary["totals"]["live_blocks"] == len(known)
    assert "has moved on since" in summary["caveats"][0]


def test_a_core_of_a_breakpoint(cli: Cli, tmp_path: Path) -> None:
    """It has SIGTRAP in it, which ended nothing: the process went on."""
    with waiting(tmp_path) as running:
        before = running.truth()
        core = running.dump_when_stopped("more", "break more")
        assert running.line() == "end"
    found = document(cli, core, "list", "used")
    assert "has moved on since" in found["caveats"][0]
    assert {block["address"]: block["size"] for block in found["blocks"]} == {
        address: kept.usable for address, kept in before.blocks.items()
    }
    # Every fourth was freed, and soon had a new block of about its size in its place.
    known = [block["address"] for block in found["blocks"] if block["site"] is not None]
    kept = [address for row, address in enumerate(before.blocks) if row % 4]
    assert sorted(known) == sorted(kept)
    process = json.loads(cli("summary", "--json", core).stdout)["process"]
    assert (process["state"], process["signal"]) == ("running", None)


def test_a_recording_brought_along(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        truth = running.truth()
        core = running.gcore()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = elsewhere / "core"
    core.rename(moved)
    running.recording.rename(elsewhere / running.recording.name)
    compare(cli, moved, truth)
    other = tmp_path / "other.heapglass"
    (elsewhere / running.recording.name).rename(other)
    done = cli("core", moved, "totals")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "--recording" in done.stderr
    assert document(cli, "--recording", other, moved, "totals")["blocks"] == len(truth.blocks)


def test_a_recording_of_another_process_is_not_taken(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        running.truth()
        core = running.gcore()
    running.recording.unlink()
    with waiting(tmp_path) as second:
        second.truth()
    assert cli("core", core, "totals").returncode == 1
    done = cli("core", "--recording", second.recording, core, "totals")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert f"is the recording of process {second.pid}, not of process {running.pid}" in done.stderr


def test_a_process_that_has_another_number_outside_of_its_container(
    cli: Cli, tmp_path: Path
) -> None:
    with waiting(tmp_path, HEAPGLASS_CORE="1") as running:
        truth = running.truth()
        core = running.gcore()
    _renumber(core, running.pid, 1)
    assert document(cli, core, "totals")["caveats"] == []  # the tables in it are its own
    found = document(cli, "--recording", running.recording, core, "totals")
    assert found["blocks"] == len(truth.blocks)
    assert f"of process {running.pid}, the core of process 1" in found["caveats"][0]


def _renumber(core: Path, pid: int, number: int) -> None:
    data = core.read_bytes()
    start = struct.pack("<III", len("CORE") + 1, 136, 3) + b"CORE\0\0\0\0"  # NT_PRPSINFO
    at = data.index(start) + len(start) + 24
    assert data[at : at + 4] == pid.to_bytes(4, "little")
    core.write_bytes(data[:at] + number.to_bytes(4, "little") + data[at + 4 :])


def test_the_text_of_list_used(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        truth = running.truth()
        core = running.gcore()
    text = cli("core", core, "list", "used").stdout
    used = {int(address, 16): int(size, 16) for address, size in _USED.findall(text)}
    assert used == {address: kept.usable for address, kept in truth.blocks.items()}
    closing = _CLOSING.match(text.splitlines()[-1])
    assert closing
    count, hexadecimal, decimal = closing.groups()
    total = sum(used.values())
    assert (count, int(hexadecimal, 16), decimal) == (f"{len(used):,}", total, f"{total:,}")
    assert "site_large" in text
    assert f"thread {running.pid} (cores" in text
    assert " old, " in text
    brief = cli("core", core, "list", "used", "--brief").stdout
    assert len(brief.splitlines()) == len(used) + 1


def test_totals_blocks_and_one_block(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        truth = running.truth()
        core = running.gcore()
    large = {a: kept for a, kept in truth.blocks.items() if kept.site == "site_large"}
    totals = document(cli, core, "totals")
    (module,) = totals["modules"]
    functions = {function["name"]: function for function in module["functions"]}
    assert set(functions) == {"site_small", "site_large"}
    assert functions["site_large"]["bytes"] == sum(kept.asked for kept in large.values())
    assert len(functions["site_small"]["returns"]) == 2
    blocks = document(cli, core, "blocks", "site_large")
    assert {block["address"] for block in blocks["blocks"]} == set(large)
    address, kept = next(iter(large.items()))
    block = document(cli, core, "block", f"{address + 1000:#x}")
    assert (block["state"], block["offset"]) == ("used", 1000)
    assert block["block"]["requested"] == kept.asked
    assert bytes.fromhex(block["memory"]).startswith(b"x" * 64)
    assert cli("core", core, "blocks", "nobody").returncode == 1


def test_addresses_outside_of_used_blocks(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path) as running:
        running.truth()
        core = running.gcore()
    heap = open_core(str(core)).heap
    assert heap
    free = next(chunk for chunk in heap.chunks if chunk.state is State.CACHE)
    assert document(cli, core, "block", f"{free.address:x}")["state"] == "cache"
    nowhere = cli("core", core, "block", "0x10")
    assert nowhere.returncode == 0
    assert nowhere.stdout == "10 is in no block\n"


@pytest.mark.parametrize("threads", [0, 3])
@pytest.mark.parametrize("lost", ["the recording", "all of heapglass"])
def test_without_a_recording(cli: Cli, tmp_path: Path, lost: str, threads: int) -> None:
    """What glibc's heap shows, and nothing of owners: as chap has it."""
    settings = {"LD_PRELOAD": ""} if lost == "all of heapglass" else {}
    with waiting(tmp_path, threads, **settings) as running:
        running.ask("more")
        truth = running.truth()
        core = running.gcore()
    running.recording.unlink(missing_ok=True)
    done = cli("core", core, "list", "used")
    used = {int(address, 16): int(size, 16) for address, size in _USED.findall(done.stdout)}
    known = {address: kept.usable for address, kept in truth.blocks.items()}
    assert known.items() <= used.items()
    # The program's own buffer, and what the C library has for each thread.
    assert len(used) - len(known) <= 1 + 3 * threads
    assert len(done.stdout.splitlines()) == len(used) + 1, "a line each, no owners"
    assert "stacks, ages and threads need the recording, which HEAPGLASS_CORE=1" in done.stderr
    found = document(cli, core, "list", "used")
    assert {block["address"]: block["size"] for block in found["blocks"]} == used
    assert found["sites"] == []
    assert {block["site"] for block in found["blocks"]} == {None}
    assert (found["count"], found["bytes"]) == (len(used), sum(used.values()))
    address, kept = next((a, k) for a, k in truth.blocks.items() if k.site == "site_small")
    block = document(cli, core, "block", f"{address + 1:#x}")
    assert (block["state"], block["offset"], block["site"]) == ("used", 1, None)
    assert bytes.fromhex(block["memory"]).startswith(b"x" * min(64, kept.asked))
    for by_owner in (["blocks", "site_small"], ["totals"]):
        refused = cli("core", core, *by_owner)
        assert (refused.returncode, refused.stdout) == (1, "")


def test_without_a_recording_and_without_glibcs_heap(cli: Cli, tmp_path: Path) -> None:
    jemalloc = next(Path("/usr/lib").glob("*/libjemalloc.so.2"))
    with waiting(tmp_path, LD_PRELOAD=str(jemalloc)) as running:
        running.truth()
        core = running.gcore()
    done = cli("core", core, "list", "used")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r"has no trace of heapglass.*nor can glibc's heap be listed", done.stderr)


def test_a_stripped_program(cli: Cli, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    subprocess.run(["strip", "-o", stripped, program("cores").path()], check=True)
    with Waiting([str(stripped)], tmp_path) as running:
        truth = running.truth()
        core = running.gcore()
    blocks = {block["address"] for block in document(cli, core, "list", "used")["blocks"]}
    assert blocks == set(truth.blocks)
    totals = document(cli, core, "totals")
    names = [function["name"] for function in totals["modules"][0]["functions"]]
    assert all(name.startswith("stripped+0x") for name in names)
    # With the executable as it was before, its functions have names.
    named = document(cli, core, program("cores").path(), "totals")["modules"][0]["functions"]
    assert {function["name"] for function in named} == {"site_small", "site_large"}
    address = totals["modules"][0]["functions"][0]["returns"][0]["name"]
    assert document(cli, core, "blocks", address)["count"] > 0


def test_a_core_that_was_cut(cli: Cli, tmp_path: Path) -> None:
    with waiting(tmp_path, HEAPGLASS_CORE="1") as running:
        truth = running.truth()
        gdbs = running.gcore()
        kernels = running.crash()
    for core in (gdbs, kernels):
        with core.open("r+b") as file:
            file.truncate(core.stat().st_size // 3)
        found = document(cli, "--recording", running.recording, core, "totals")
        assert "cut short" in found["caveats"][0]
        assert found["blocks"] == len(truth.blocks)
    assert document(cli, kernels, "totals")["blocks"] == len(truth.blocks)
    # gdb writes the notes last, and with them what leads to the recording.
    assert "cut short" in cli("core", gdbs, "totals").stderr


def test_another_allocator_has_no_list_of_free_blocks(cli: Cli, tmp_path: Path) -> None:
    jemalloc = next(Path("/usr/lib").glob("*/libjemalloc.so.2"))
    settings = {"LD_PRELOAD": f"{library()}:{jemalloc}"}
    with waiting(tmp_path, **settings) as running:
        truth = running.truth()
        core = running.gcore()
    found = document(cli, core, "list", "used")
    assert {a: kept.asked for a, kept in truth.blocks.items()}.items() <= {
        block["address"]: block["requested"] for block in found["blocks"]
    }.items()
    assert "cannot be compared" in found["caveats"][0]


def test_files_that_are_no_cores(cli: Cli, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no core")
    fake = tmp_path / "fake"
    fake.write_bytes(b"\x7fELF\x02\x01".ljust(16, b"\0") + b"\x04\0\x3e\0" + b"\xff" * 44)
    for path in (text, fake, tmp_path, tmp_path / "none", Path(program("cores").path())):
        for command in (["list", "used"], ["free"]):
            done = cli("core", path, *command)
            assert (done.returncode, done.stdout) == (1, "")
            assert done.stderr.startswith("heapglass: ")
            assert done.stderr.count("\n") == 1
    for path in (text, Path(program("cores").path())):
        done = cli("core", path, "totals")
        assert done.stderr == f"heapglass: {path} is neither a core nor a recording\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["list"],
        ["list", "free"],
        ["exe"],
        ["block"],
        ["block", "zz"],
        ["blocks"],
        ["free", "x"],
    ],
)
def test_questions_that_make_no_sense(cli: Cli, words: list[str]) -> None:
    done = cli("core", "core", *words)
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1


class _Overwritten:
    """The memory of a core with some bytes changed."""

    def __init__(self, memory: CoreMemory, changes: dict[int, int]) -> None:
        self.regions = memory.regions
        self._memory = memory
        self._changes = changes

    def read(self, address: int, length: int) -> bytes:
        data = bytearray(self._memory.read(address, length))
        for at, value in self._changes.items():
            if address <= at < address + length:
                data[at - address] = value
        return bytes(data)


def test_a_heap_that_was_overwritten(tmp_path: Path) -> None:
    """Crashes come from such heaps: each gives chunks or a sentence, and always an end."""
    with waiting(tmp_path, threads=1) as running:
        running.truth()
        core = running.gcore()
    memory = CoreMemory(CoreFile(str(core)))
    sound = walk_heap(memory)
    arena = find_arenas(memory)[0].address
    chance = random.Random(7)  # noqa: S311 (a fixed seed: the same heaps every time)
    places = [chunk.address for chunk in sound.chunks]
    troubled = 0
    for _ in range(60):
        near = [chance.choice(places) + chance.randrange(-16, 32) for _ in range(4)]
        near += [arena + chance.randrange(2200)]
        changes = {at: chance.randrange(256) for at in near}
        try:
            heap = walk_heap(_Overwritten(memory, changes))
        except NoArenas:
            troubled += 1
            continue
        troubled += bool(heap.troubles)
    assert 0 < troubled < 60


def test_samples(cli: Cli, tmp_path: Path) -> None:
    """The heap shows every block, the ledger whose some of them are."""
    with waiting(tmp_path, HEAPGLASS_SAMPLE="8k", HEAPGLASS_SEED="3") as running:
        truth = running.truth()
        core = running.gcore()
    found = document(cli, core, "list", "used")
    blocks = found["blocks"]
    assert {block["address"]: block["size"] for block in blocks} == {
        address: kept.usable for address, kept in truth.blocks.items()
    }
    known = [block for block in blocks if block["site"] is not None]
    assert 3 < len(known) < len(blocks)
    assert all(truth.blocks[block["address"]].asked == block["requested"] for block in known)
    ownerless = f"no owner is known: {len(blocks) - len(known)} of {len(blocks)} have none."
    assert found["caveats"][-1].startswith("Sampled once in about 8.0 KiB: ")
    assert ownerless in found["caveats"][-1]
    # A recording has no heap to be looked at.
    totals = document(cli, running.recording, "totals")
    assert totals["blocks"] == len(known)
    few = f"only {len(known)} recorded blocks are known, of {len(blocks)} that are live"
    assert few in totals["caveats"][-1]
    assert few in " ".join(cli("core", running.recording, "totals").stdout.split())
    assert few in cli("core", running.recording, "list", "used").stderr
    assert few in cli("core", running.recording, "block", "0x10").stderr
