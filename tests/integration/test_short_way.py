"""The short way of an event against the general one: the same work, run with each, must leave the
same numbers behind. Only times differ from run to run."""

from __future__ import annotations

import random

import pytest

from harness.bench import Bench
from harness.checked import generally
from harness.counters import Counters, add, table_counters
from harness.programs import program
from harness.running import Setting, under_heapglass
from harness.scripts import Step, random_steps, site_keys, written
from heapglass.model import HeapSource

DRIVER = program("driver")


def recorded(bench: Bench, script: list[Step], setting: Setting) -> HeapSource:
    here = bench.fresh("steps")
    argv = DRIVER.argv(("ordered", written(script, here / "script"), str(here / "log")))
    run = bench.record(argv, setting)
    assert (run.outcome.status, run.outcome.stderr) == (0, b""), run.outcome
    return run.recording


def numbers(source: HeapSource) -> dict[str, object]:
    """All that must not depend on how events were recorded, by the driver's names of the sites."""
    key_of, sites = site_keys(source), {}
    for site, counters in table_counters(source.sites()):
        sizes, lifetimes = source.size_histogram(site), source.lifetime_histogram(site)
        own: Counters = counters | {f"size {i}": n for i, n in enumerate(sizes.counts.tolist())}
        add(sites.setdefault(key_of(site), {}), own | {"ended": int(lifetimes.counts.sum())})
    totals = source.totals
    return {
        "sites": sites,
        "live": (totals.live_bytes, totals.live_blocks),
        "peak": totals.peak_bytes,
        "slack": totals.slack_bytes,
        "threads": [(t.allocations, t.bytes_allocated, t.frees, t.bytes_freed, t.temporary)
                    for t in source.threads],
        "losses": [(loss.kind, loss.events) for loss in source.losses.items],
    }  # fmt: skip


def few_stacks(seed: int, count: int) -> list[Step]:
    """Over and over the same stacks and slots: sizes that change their site's usual one, its
    smallest and its largest, blocks of no size, aligned ones, and blocks resized just before they
    are freed."""
    chance = random.Random(seed)  # noqa: S311
    result = []
    for _ in range(count):
        slot, site = chance.randrange(6), chance.randrange(3)
        size = chance.choice([0, 1, 24, 24, 24, 25, 100, 4000, 65535, 65536])
        made = Step(0, chance.choice("mmmca"), slot, site, 1, size, 64)
        resized = made._replace(kind="r", size=chance.choice([1, 24, 5000, 65536]))
        freed = made._replace(kind="f")
        result += [freed, made, *chance.choice([[], [resized], [freed], [resized, freed]])]
    return result


SCRIPTS = {
    "few stacks": few_stacks(1, 15_000),
    "one thread": random_steps(2, 20_000, threads=1),
    "three threads": random_steps(3, 8000, threads=3),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_both_ways_leave_the_same_numbers(bench: Bench, name: str) -> None:
    setting = under_heapglass()
    short = numbers(recorded(bench, SCRIPTS[name], setting))
    general = numbers(recorded(bench, SCRIPTS[name], generally(setting)))
    assert short == general


@pytest.mark.parametrize("options", [{"MALLOC_MMAP_THRESHOLD_": "2000"}, {"MALLOC_ARENA_MAX": "1"}])
def test_also_where_small_blocks_are_mapped_one_by_one(
    bench: Bench, options: dict[str, str]
) -> None:
    setting = under_heapglass(**options)
    script = few_stacks(4, 4000)
    short = numbers(recorded(bench, script, setting))
    assert short == numbers(recorded(bench, script, generally(setting)))
