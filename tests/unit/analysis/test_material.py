from __future__ import annotations

import subprocess
import sys

import pytest

from heapglass.analysis.material import (
    CUTS,
    Figures,
    is_loss_material,
    is_material,
    material_losses,
)
from heapglass.analysis.moments import PeakHeap
from heapglass.model import LiveUnit, LossKind, Pseudo
from unit.fake_source import FakeSite, FakeSource, frame

# Counts that tell from each other what a loss is weighed against.
FIGURES = Figures(
    allocations=100_000, frees=60_000, live_blocks=40_000, located=100_000, is_light=False
)
# The least number of events that is material; None: there is none.
BORDERS = {
    LossKind.REENTRANT: 400,
    LossKind.LEDGER_FULL: 400,
    LossKind.SITES_FULL: 1_000,
    LossKind.COUNTERS_FULL: 400,
    LossKind.EARLY: 400,
    LossKind.MISSED_FREE: 400,
    LossKind.UNKNOWN_FREE: 600,
    LossKind.INHERITED_FREE: None,
    LossKind.STACK_DEPTH: 1_000,
    LossKind.STACK_NO_RULE: 1_000,
    LossKind.STACK_BOUNDS: 1_000,
    LossKind.STACK_BAD_RULE: 1_000,
    LossKind.HISTOGRAM: 600,
    LossKind.SNAPSHOT: None,
    LossKind.THREAD: 400,
    LossKind.CLOCK: 1_600,
}


@pytest.mark.parametrize("kind", LossKind)
def test_one_per_cent_is_the_border_of_each_kind(kind: LossKind) -> None:
    border = BORDERS[kind]
    if border is None:
        assert not is_loss_material(kind, 10**9, FIGURES)
        return
    assert is_loss_material(kind, border, FIGURES)
    assert not is_loss_material(kind, border - 1, FIGURES)


@pytest.mark.parametrize("kind", [LossKind.LEDGER_FULL, LossKind.COUNTERS_FULL])
def test_where_totals_are_counted_apart_sites_lack_samples(kind: LossKind) -> None:
    light = FIGURES._replace(located=500, is_light=True)
    assert is_loss_material(kind, 5, light)
    assert not is_loss_material(kind, 4, light)


def test_a_figure_of_nothing_lacks_whatever_was_lost() -> None:
    assert is_material(1, 0)
    assert not is_material(0, 0)
    assert is_material(1, 100)
    assert not is_material(1, 101)


def heap(cut: FakeSite, **losses: int) -> FakeSource:
    rest = FakeSite((frame("g"),), allocations=99_999, frees=50_000, bytes_allocated=10**6)
    return FakeSource(
        [cut, rest], loss_items={LossKind(kind): events for kind, events in losses.items()}
    )


@pytest.mark.parametrize("kind", CUTS)
@pytest.mark.parametrize(("size", "told"), [(10_101, 0), (10_102, 1)])
def test_one_cut_stack_may_hold_a_per_cent_of_the_bytes(kind: str, size: int, told: int) -> None:
    """Of 1,010,101 bytes and more it holds 1 %, or just not that."""
    site = FakeSite((frame("f"),), allocations=1, bytes_allocated=size, cut=Pseudo(CUTS[kind]))
    source = heap(site, **{kind: 1})
    assert material_losses(source, source.sites()) == ({kind} if told else set())


def test_other_cuts_are_no_reason() -> None:
    site = FakeSite((frame("f"),), allocations=1, bytes_allocated=10**6, cut=Pseudo.DEPTH)
    source = heap(site, stack_no_rule=1)
    assert material_losses(source, source.sites()) == set()


@pytest.mark.parametrize(("events", "told"), [(19, 0), (20, 1)])
def test_cut_samples_are_weighed_against_samples(events: int, told: int) -> None:
    site = FakeSite((frame("f"),), allocations=10**6, bytes_allocated=10**6, samples=2_000)
    source = FakeSource([site], loss_items={LossKind.STACK_BOUNDS: events})
    source.mode, source.live_unit = "sampled", LiveUnit.USABLE
    assert material_losses(source, source.sites()) == ({"stack_bounds"} if told else set())


def test_a_part_is_weighed_by_its_own_counts() -> None:
    """All that was lost may have been lost in it."""
    site = FakeSite((frame("f"),), allocations=100_000, frees=99_000, peak_blocks=10, peak_bytes=9)
    source = FakeSource([site], loss_items={LossKind.REENTRANT: 9})
    assert material_losses(source, source.sites()) == set()
    part = PeakHeap(source)
    assert material_losses(part, part.sites()) == {"reentrant"}


def test_the_end_of_a_run_does_not_wait_for_numpy() -> None:
    code = "import sys, heapglass.analysis.material; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
