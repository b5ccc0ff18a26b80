"""The summary's words where its numbers leave a choice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from heapglass.model import LiveUnit, Process, Totals
from unit.cli.sample_heap import BUFFER, START
from unit.fake_source import FakeSite, FakeSource

if TYPE_CHECKING:
    from unit.cli.conftest import Run

FREED = FakeSite((BUFFER, *START), allocations=1, frees=1, bytes_allocated=64, bytes_freed=64)


class AllMissed(FakeSource):
    """Blocks are live, none of which was sampled."""

    @property
    def totals(self) -> Totals:
        return replace(super().totals, live_blocks=3, live_bytes=48, live_unit=LiveUnit.USABLE)


class Timeless(FakeSource):
    """As converted from a log without times."""

    @property
    def process(self) -> Process:
        return replace(super().process, duration_ns=0)


def test_nothing_is_left(run: Run) -> None:
    _, output, _ = run(FakeSource((FREED,)), "summary", "x")
    assert "nothing" in output
    assert "sampled" not in output


def test_what_is_left_was_not_sampled(run: Run) -> None:
    _, output, _ = run(AllMissed((FREED,)), "summary", "x")
    assert "nothing that was sampled" in output


def test_one_site_is_not_several(run: Run) -> None:
    _, output, _ = run(FakeSource((FREED,)), "summary", "x")
    assert "exact, 1 site\n" in output


def test_times_that_nobody_knows_are_not_zero(run: Run) -> None:
    site = replace(FREED, frees=0, bytes_freed=0, peak_bytes=64)
    code, output, _ = run(Timeless((site,)), "summary", "x")
    assert code == 0
    assert "At the peak  64 B\n" in output
    assert "after" not in output
