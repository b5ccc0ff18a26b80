"""Resource limits, set before the program starts or by itself: it behaves as without us."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from harness.bench import Bench
from harness.programs import program
from harness.running import Setting, bare_setting, run, under_heapglass

SMALL = program("many_blocks").argv(("20000",))
TABLES = pytest.mark.parametrize("out", ["", "none"], ids=["in a file", "in memory"])
MIB = 1 << 20


def limited(option: str, out: str = "", **environment: str) -> Setting:
    """Under a limit that is there before anything of ours is."""
    setting = under_heapglass(HEAPGLASS_OUT=out, **environment)
    return replace(setting, prefix=["prlimit", option])


@TABLES
@pytest.mark.parametrize("mib", [20, 50, 100, 1000, 20_000])
def test_address_space_limited_from_outside(bench: Bench, mib: int, out: str) -> None:
    bench.compare_program(SMALL, limited(f"--as={mib * MIB}", out))


def stated_cost(limit: int, threads: int) -> int:
    """What docs/commands/run.md says that we take of the addresses that a program may have."""
    return limit // 16 + 4 * MIB + threads * (5 * MIB // 4 + min(limit // 128, 3 * MIB // 2))


@pytest.mark.parametrize("taker", ["first", "last"])
@pytest.mark.parametrize("size", [1000, 65_536, MIB])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("kib", [20_000, 30_000, 60_000, 100_000, 300_000])
def test_what_is_left_of_limited_addresses(
    bench: Bench, kib: int, threads: int, taker: str, size: int
) -> None:
    argv, limit = program("room").argv((str(threads), str(size), taker)), kib * 1024
    # Whether a thread gets an arena of 64 MiB is up to where the kernel happens to map.
    arenas = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}
    setting = limited(f"--as={limit}", **arenas)
    bare = run(argv, bench.fresh("bare"), bare_setting(setting))
    recorded = bench.record(argv, setting)
    left = (int(bare.stdout) if bare.status == 0 else 0) - stated_cost(limit, threads)
    if left > 0:
        assert recorded.outcome.status == 0
        assert int(recorded.outcome.stdout) >= left
    if kib >= 60_000 and recorded.outcome.status == 0:
        (recording,) = recorded.recordings
        lost = sum(loss.events for loss in recording.losses.items)
        seen = recording.totals.allocations
        assert seen + lost >= int(recorded.outcome.stdout) // size


@TABLES
@pytest.mark.parametrize("late", [(), ("late",)])
@pytest.mark.parametrize("mib", [50, 200, 2000])
def test_address_space_limited_from_inside(
    bench: Bench, mib: int, late: tuple[str, ...], out: str
) -> None:
    """Also once there is a recording, with a mapping that is larger than the limit."""
    argv = program("limits").argv(("as", str(mib * MIB), *late))
    bench.compare_program(argv, under_heapglass(HEAPGLASS_OUT=out))


@pytest.mark.parametrize("limit", ["setrlimit(RLIMIT_AS, L)", "prlimit(0, RLIMIT_AS, L)"])
def test_an_interpreter_that_limits_itself(bench: Bench, limit: str) -> None:
    script = f"""from resource import *
L = (1 << 30, 1 << 30)
{limit}
print(len([bytes(1000) for i in range(20000)]), getrlimit(RLIMIT_AS))"""
    recording = bench.compare([sys.executable, "-c", script]).recording
    assert recording.totals.allocations > 20000


@TABLES
@pytest.mark.parametrize("when", ["early", "late"])
def test_locked_memory(bench: Bench, when: str, out: str) -> None:
    """The holes of the recording's file are not filled, whether it is there before or after."""
    argv = program("locked").argv((when,))
    bench.compare_program(argv, under_heapglass(HEAPGLASS_OUT=out))


@pytest.mark.parametrize("mib", [100, 500])
def test_memory_used_up(bench: Bench, mib: int) -> None:
    bench.compare_program(program("exhaust").argv((str(mib * MIB),)))


@TABLES
@pytest.mark.parametrize("data", [30, 300])
def test_data_limited(bench: Bench, data: int, out: str) -> None:
    bench.compare_program(SMALL, limited(f"--data={data * MIB}", out))


@pytest.mark.parametrize("count", [3, 4, 8])
def test_few_descriptors(bench: Bench, count: int) -> None:
    """The loader itself needs the fourth to read the C library: fewer than that, nothing starts."""
    bench.compare_program(
        program("limits").argv(("nofile", "0")), limited(f"--nofile={max(count, 4)}")
    )
    bench.compare_program(program("limits").argv(("nofile", str(count))))


@pytest.mark.parametrize("size", [0, 1, 4096, 100_000, 1 << 20, 1 << 24])
def test_file_size_limited_without_a_signal(bench: Bench, size: int) -> None:
    bench.compare_program(SMALL, limited(f"--fsize={size}"))
    bench.compare_program(program("limits").argv(("fsize", str(size))))


def test_stack_limited(bench: Bench) -> None:
    bench.compare_program(SMALL, limited(f"--stack={64 * 1024}"))
