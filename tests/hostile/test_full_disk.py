"""File systems that fill up: the program goes on, its events are seen or counted as lost."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench, opened
from harness.programs import program
from harness.running import Outcome, run, under_heapglass
from heapglass.model import HeapSource, LossKind

BLOCKS = 200_000
LOST_ALLOCATIONS = (LossKind.LEDGER_FULL, LossKind.COUNTERS_FULL, LossKind.EARLY, LossKind.THREAD)

# Runs the command on a small file system, then carries what it left there to the directory $1.
ON_SMALL_DISK = """
set -e; disk=$1/disk; shift; mkdir "$disk"; {mount}; here=$PWD; cd "$disk"
status=0; "$@" || status=$?
cp --sparse=always "$disk"/*.heapglass* "$here" 2>/dev/null || true
exit $status
"""
TMPFS = 'mount -t tmpfs -o size={size} tmpfs "$disk"'
EXT4 = (
    'truncate -s {size} "$disk.img"; '
    'PATH="$PATH:/usr/sbin:/sbin" mkfs.ext4 -q -O ^has_journal -m 0 "$disk.img"; '
    'mount -o loop "$disk.img" "$disk"'
)
# A loop device is root's alone; a namespace of our own is enough for a tmpfs.
DISKS = {"tmpfs": TMPFS, **({"ext4": EXT4} if os.geteuid() == 0 else {})}


def on_small_disk(
    bench: Bench, mount: str, blocks: int, **settings: str
) -> tuple[Outcome, tuple[HeapSource, ...]]:
    directory = bench.fresh("small")
    script = ON_SMALL_DISK.format(mount=mount)
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(directory)]
    if os.geteuid() == 0:
        prefix.remove("--map-root-user")
    argv = program("many_blocks").argv((str(blocks),))
    outcome = run(argv, directory, replace(under_heapglass(**settings), prefix=prefix))
    return outcome, opened(directory)


@pytest.mark.parametrize("disk", DISKS)
@pytest.mark.parametrize("size", ["256k", "1M", "3M", "12M"])
def test_a_full_disk_costs_events_but_never_the_program(bench: Bench, disk: str, size: str) -> None:
    outcome, recordings = on_small_disk(bench, DISKS[disk].format(size=size), BLOCKS)
    assert (outcome.status, outcome.stdout) == (0, f"{BLOCKS}\n".encode())
    for source in recordings:
        lost = sum(source.losses.events(kind) for kind in LOST_ALLOCATIONS)
        assert source.totals.allocations + lost == BLOCKS
        assert (source.losses.ladder == "recording") == (lost == 0)
        assert lost == 0 or source.losses.reason


def test_a_disk_large_enough_loses_nothing(bench: Bench) -> None:
    _, [source] = on_small_disk(bench, TMPFS.format(size="200M"), BLOCKS)
    assert source.totals.allocations == BLOCKS
    assert source.losses.items == ()


@pytest.mark.parametrize("disk", DISKS)
def test_a_disk_without_room_for_a_recording_is_said_to_be_full(bench: Bench, disk: str) -> None:
    """By that name: the kernel has another one for pages that it cannot reserve."""
    mount = DISKS[disk].format(size={"tmpfs": "4k", "ext4": "300k"}[disk])
    fill = f'{mount}; cat /dev/zero >"$disk/rest" 2>/dev/null || true'
    said = {"HEAPGLASS_QUIET": "0", "TMPDIR": str(bench.fresh("elsewhere"))}
    outcome, _ = on_small_disk(bench, fill, BLOCKS, **said)
    assert (outcome.status, outcome.stdout) == (0, f"{BLOCKS}\n".encode())
    [line] = outcome.stderr.decode().splitlines()
    assert "(no space left); recording to " in line


@pytest.mark.parametrize("budget", ["4M", "6M", "12M"])
def test_a_budget_is_kept(bench: Bench, budget: str) -> None:
    setting = under_heapglass(HEAPGLASS_MEMORY=budget)
    run_ = bench.compare(program("many_blocks").argv((str(BLOCKS),)), setting)
    source, limit = run_.recording, int(budget[:-1]) << 20
    lost = sum(source.losses.events(kind) for kind in LOST_ALLOCATIONS)
    assert source.totals.allocations + lost == BLOCKS
    assert source.recorder.memory_bytes <= limit
    assert Path(source.name).stat().st_blocks * 512 <= limit + (64 << 10)


@pytest.mark.parametrize("budget", ["4M", "16M"])
def test_a_budget_is_kept_with_many_stacks(bench: Bench, budget: str) -> None:
    """These take as much memory outside the file as in it."""
    setting = under_heapglass(HEAPGLASS_MEMORY=budget)
    source = bench.compare(program("many_stacks").argv(("16",)), setting).recording
    lost = sum(source.losses.events(kind) for kind in LOST_ALLOCATIONS)
    assert source.totals.allocations + lost >= 1 << 16
    assert source.recorder.memory_bytes <= (int(budget[:-1]) << 20) * 1.1


def test_the_shell_part_really_makes_a_small_disk(bench: Bench) -> None:
    """Guards the tests above: without us, a program there does run out of space."""
    script = ON_SMALL_DISK.format(mount=TMPFS.format(size="256k"))
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    done = subprocess.run(
        [*words, str(bench.directory), "dd", "if=/dev/zero", "of=x", "bs=1M", "count=1"],
        capture_output=True,
        check=False,
    )
    assert b"No space left" in done.stderr
