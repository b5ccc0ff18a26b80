"""Signals that strike at any instant, inside the recorder too."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from harness import soak
from harness.allocators import allocators
from harness.bench import Bench
from harness.consistency import contradictions
from harness.counters import Counters, Key, by_name
from harness.programs import program
from harness.running import Setting, under_heapglass
from heapglass.model import HeapSource, LossKind, Totals


def on_safe_allocator() -> Setting:
    """With an allocator below us that may be entered at any instant, which glibc's may not."""
    setting = under_heapglass()
    return replace(setting, preload=[*setting.preload, program("bump_allocator").path()])


def test_a_storm_is_survived_and_what_it_hid_is_counted(bench: Bench) -> None:
    run = bench.record(program("signal_storm").argv(), on_safe_allocator())
    assert run.outcome.status == 0
    by_main, by_handler = map(int, run.outcome.stdout.split())
    recording, sites = run.recording, by_name(run.recording)
    seen = sites["site_handler"]["allocations"] + sites["site_deep"]["allocations"]
    # EARLY: the first strikes come while the recording is being created.
    kinds = (LossKind.REENTRANT, LossKind.EARLY)
    lost = sum(recording.losses.events(kind) for kind in kinds)
    assert by_handler > 1000
    assert sites["site_deep"]["allocations"] == by_main
    assert seen + lost == by_main + by_handler


def test_a_handler_may_jump_out_of_the_recorder(bench: Bench) -> None:
    """What it jumped out of may be lost, but all that comes after is seen."""
    run = bench.record(program("signal_jumps").argv(), on_safe_allocator())
    assert run.outcome.status == 0
    after = by_name(run.recording)["site_after"]
    assert (after["allocations"], after["frees"], after["temporary"]) == (1000, 1000, 1000)
    # Blocks have ever new addresses: 32 bytes of the ledger each. Jumps once left 3 GiB behind.
    blocks = run.recording.totals.allocations
    assert run.recording.workings.place.stored_bytes < 32 * blocks + (32 << 20)


# ---- a signal at each instruction of the library in turn ----

SHORT_WAYS = ("known", "middle")
SHORT = 400  # instructions that a malloc and a free may take together if both go the short way


def struck(bench: Bench, what: str, handler: str, every: int, setting: Setting) -> list[HeapSource]:
    """The recordings of the children, in their order; the last one is not struck."""
    argv = program("signal_steps").argv((what, handler, str(every)))
    run = bench.record(argv, setting)
    assert (run.outcome.status, run.outcome.stderr) == (0, b""), run.outcome
    children = [r for r in run.recordings if "site_warm" in by_name(r)]
    assert len(children) == int(run.outcome.stdout)
    assert (len(children) * every < SHORT) == (what in SHORT_WAYS)
    return sorted(children, key=lambda r: r.process.started_wall_ns)


def by_path(recording: HeapSource) -> dict[Key, Counters]:
    def key(names: list[str]) -> str:
        return next((name for name in names if name.startswith(("site_handler", "path_"))), "")

    return by_name(recording, key)


def lost(recording: HeapSource) -> dict[LossKind, int]:
    """But for events dated too early: where the kernel forgot the child's restartable sequences,
    nobody tells it that it was off its processor, as it may be for long on a busy machine."""
    losses = {loss.kind: loss.events for loss in recording.losses.items}
    losses.pop(LossKind.CLOCK, None)
    return losses


BLOCK = 40  # the largest that is under way when the handler makes a peak: see short_way.h


@dataclass(frozen=True)
class Way:
    what: str
    every: int
    made: int  # so often the first path was taken
    # So many of the strikes see the handler's call at least: on the short way all, but the event
    # may be on the general one if the clock has to be read.
    least: float
    block: int = BLOCK


WAYS = pytest.mark.parametrize(
    "way",
    [
        Way("known", 1, 31, 0.9),
        Way("middle", 1, 31, 0.9, 3000),
        Way("new", 61 if soak.WHOLE else 251, 30, 0.01),
    ],
    ids=lambda way: way.what,
)
ALLOCATORS = pytest.mark.parametrize("allocator", ["", "jemalloc"])


def above(allocator: str, **environment: str) -> Setting:
    """That allocator is struck outside of its own code only: it may not be entered twice."""
    setting = under_heapglass(**environment)
    beneath = [allocators()[allocator]] if allocator else []
    return replace(setting, preload=[*setting.preload, *beneath])


@pytest.mark.parametrize("handler", ["allocate", "above"])
@ALLOCATORS
@WAYS
def test_a_handler_that_allocates_is_seen_or_counted(
    bench: Bench, way: Way, allocator: str, handler: str
) -> None:
    seen = []
    for recording in struck(bench, way.what, handler, way.every, above(allocator))[:-1]:
        sites, losses = by_path(recording), lost(recording)
        first = sites["path_one"]
        assert (first["allocations"], first["frees"]) == (way.made, way.made)
        seen.append(sites.get("site_handler", {}).get("allocations", 0))
        assert losses == ({} if seen[-1] else {LossKind.REENTRANT: 1})
        assert contradictions(recording, way.block) == []
    assert sum(seen) >= way.least * len(seen)
    assert way.what in SHORT_WAYS or 0 in seen


@ALLOCATORS
@WAYS
def test_a_free_in_a_handler_is_seen_or_made_up_for(bench: Bench, way: Way, allocator: str) -> None:
    """At the latest when its address is handed out again."""
    seen = []
    for recording in struck(bench, way.what, "free", way.every, above(allocator))[:-1]:
        early, losses = by_name(recording)["site_early"], lost(recording)
        assert (early["allocations"], early["frees"]) == (1, 1)
        assert by_path(recording)["path_one"]["allocations"] == way.made
        seen.append(1 - losses.pop(LossKind.MISSED_FREE, 0))
        assert losses == {}
        assert contradictions(recording, way.block) == []
    assert sum(seen) >= way.least * len(seen)
    assert way.what in SHORT_WAYS or 0 in seen


@ALLOCATORS
@WAYS
def test_a_handler_that_forks_returns_into_the_hook_in_both_processes(
    bench: Bench, way: Way, allocator: str
) -> None:
    """The child, whose status its parent looks at, has none of our memory but what it is left; what
    it does to that its parent does not see."""
    for recording in struck(bench, way.what, "fork", way.every, above(allocator))[:-1]:
        first = by_path(recording)["path_one"]
        assert (first["allocations"], first["frees"]) == (way.made, way.made)
        assert lost(recording) == {}
        assert contradictions(recording, way.block) == []


@ALLOCATORS
def test_the_same_while_sampling(bench: Bench, allocator: str) -> None:
    setting = above(allocator, HEAPGLASS_SAMPLE="16k", HEAPGLASS_SEED="7")
    *children, undisturbed = struck(bench, "known", "fork", 1, setting)
    expected = beyond_warming(undisturbed.totals)[:2]
    assert {beyond_warming(child.totals)[:2] for child in children} == {expected}


@pytest.mark.parametrize(
    ("what", "every"), [("known", 1), ("second", 7), ("other", 7), ("new", 97)]
)
def test_a_handler_that_jumps_leaves_no_half_made_memory(
    bench: Bench, what: str, every: int
) -> None:
    """Two paths that differ in a return address only: what comes after the jump goes to the right
    one, to the last block. What was jumped out of may be counted or not."""
    before = {"known": (20, 0), "second": (20, 1), "other": (20, 3), "new": (20, 0)}[what]
    during = {"known": (1, 0), "second": (0, 1), "other": (0, 2), "new": (0, 0)}[what]
    for recording in struck(bench, what, "jump", every, above("")):
        sites = by_path(recording)
        for path, least, more in zip(("path_one", "path_two"), before, during, strict=True):
            made = sites[path]["allocations"] - least - 10
            assert 0 <= made <= more, (recording.name, path, made)


WARM, WARM_USABLE = (
    10,
    16,
)  # bytes of the blocks of site_warm, of which no child makes as many as another


def beyond_warming(totals: Totals) -> tuple[int, int, int]:
    """Blocks left, bytes asked for and usable bytes freed, whatever the number of those blocks."""
    return (
        totals.allocations - totals.frees,
        totals.bytes_allocated - WARM * totals.allocations,
        totals.bytes_freed - WARM_USABLE * totals.frees,
    )


@pytest.mark.parametrize(
    ("handler", "change"),
    [("allocate", (0, 30 - WARM, 32 - WARM_USABLE)), ("free", (-1, 0, 48 - WARM_USABLE))],
)
def test_sampled_above_jemalloc_totals_are_exact_whenever_a_signal_comes(
    bench: Bench, handler: str, change: tuple[int, int, int]
) -> None:
    """A free is counted by what it adds to jemalloc's own count, and so are those that a handler
    makes meanwhile."""
    setting = above("jemalloc", HEAPGLASS_SAMPLE="16k", HEAPGLASS_SEED="7")
    *children, undisturbed = struck(bench, "known", handler, 1, setting)
    assert len(children) > 50
    blocks, bytes_asked, usable = beyond_warming(undisturbed.totals)
    expected = (blocks + change[0], bytes_asked + change[1], usable + change[2])
    assert {beyond_warming(child.totals) for child in children} == {expected}
