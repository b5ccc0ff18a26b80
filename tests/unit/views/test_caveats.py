from __future__ import annotations

import pytest

from heapglass.analysis.moments import PeakHeap
from heapglass.launch.report import REASON_WORDS
from heapglass.model import (
    ChangeReason,
    LiveUnit,
    LossKind,
    Mark,
    Mode,
    ModeChange,
    ProcessState,
)
from heapglass.units import Units
from heapglass.views.caveats import annotation_sentences, list_caveats, list_small
from unit.fake_source import FakeSite, FakeSource, frame, site_table


def caveats(source: FakeSource, units: Units = Units.IEC) -> tuple[str, ...]:
    return list_caveats(source, source.sites(), units)


def test_a_whole_recording_has_none() -> None:
    assert caveats(FakeSource()) == ()


@pytest.mark.parametrize("kind", LossKind)
def test_every_loss_is_one_sentence_with_its_number(kind: LossKind) -> None:
    heap = FakeSource(loss_items={kind: 12_345})
    (sentence,) = (*caveats(heap), *list_small(heap, heap.sites()))
    assert "12,345 " in sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "{" not in sentence


def test_one_is_singular() -> None:
    (sentence,) = caveats(FakeSource(loss_items={LossKind.EARLY: 1}))
    assert "1 allocation made" in sentence


@pytest.mark.parametrize("reason", ["disk_full", "budget", "no_memory", "internal", "novel"])
def test_stepping_down_is_told_with_time_and_reason(reason: str) -> None:
    (off,) = caveats(FakeSource(ladder=("off", reason, 1_500_000_000)))
    assert off.startswith("Recording stopped at 1.5 s, because ")
    (dropping,) = caveats(FakeSource(ladder=("dropping", reason, 1_500_000_000)))
    assert dropping.startswith("Recording is incomplete since 1.5 s, because ")


@pytest.mark.parametrize(("loads", "words"), [(1, "1 load of"), (4464, "4,464 loads of")])
def test_libraries_without_names_are_counted(loads: int, words: str) -> None:
    (sentence,) = caveats(FakeSource(dropped_modules=loads))
    assert sentence.startswith(f"Had no room to note {words} libraries: ")


def test_a_limit_is_no_budget_that_somebody_gave() -> None:
    (sentence,) = caveats(FakeSource(ladder=("dropping", "budget", 1)))
    assert "budget" not in sentence
    assert REASON_WORDS["budget"] in sentence


def test_one_annotated_block_is_one() -> None:
    (sentence,) = annotation_sentences(site_table([{"id": 2, "allocations": 1}]), Units.IEC)
    assert sentence.startswith("The program annotated 1 block of its own allocators, ")
    (sentence,) = annotation_sentences(site_table([{"id": 2, "allocations": 2}]), Units.IEC)
    assert sentence.startswith("The program annotated 2 blocks of its own allocators, ")


@pytest.mark.parametrize("kind", [LossKind.COUNTERS_FULL, LossKind.LEDGER_FULL])
def test_totals_lack_what_was_not_counted_unless_they_are_counted_apart(kind: LossKind) -> None:
    (sentence,) = caveats(FakeSource(loss_items={kind: 3}))
    assert "no number here includes them" in sentence
    light = FakeSource(loss_items={kind: 3}, live_unit=LiveUnit.USABLE)
    assert "totals include them, sites do not" in caveats(light)[0]
    part = PeakHeap(light)  # its totals are sums over sites
    assert not any("totals include them" in one for one in list_caveats(part, part.sites()))


def test_estimates_are_called_so() -> None:
    (sentence,) = caveats(FakeSource(mode="sampled"))
    assert "512 KiB" in sentence
    (sentence,) = caveats(FakeSource(peak_error_bytes=4096), Units.SI)
    assert "4.1 kB" in sentence


def test_several_intervals_are_told_from_the_least_to_the_most() -> None:
    modes = ((Mode.EXACT, 0), (Mode.SAMPLED, 1 << 17), (Mode.SAMPLED, 1 << 24))
    changes = tuple(ModeChange(1, mode, size, ChangeReason.START, 0.0) for mode, size in modes)
    (sentence, *_) = caveats(FakeSource(mode="sampled", changes=changes))
    assert sentence.startswith("Sampled in part, once in about 128 KiB to 16.0 MiB: ")


def test_a_part_has_no_exact_totals() -> None:
    source = PeakHeap(FakeSource(mode="sampled", live_unit=LiveUnit.USABLE))
    sentences = list_caveats(source, source.sites())
    assert any("and so have totals" in one for one in sentences)
    assert not any("exact" in one or "usable" in one for one in sentences)


def test_usable_totals_are_called_so() -> None:
    (sentence,) = caveats(FakeSource(live_unit=LiveUnit.USABLE))
    assert "usable bytes" in sentence
    _, inherited = caveats(FakeSource(live_unit=LiveUnit.USABLE, is_forked=True))
    assert "too low" in inherited


def test_changes_for_the_budget_are_told_with_time_and_cost() -> None:
    over = ModeChange(10**9, Mode.SAMPLED, 512 << 10, ChangeReason.OVER, 0.0412)
    within = ModeChange(5 * 10**9, Mode.EXACT, 0, ChangeReason.WITHIN, 0.001)
    (sentence,) = caveats(FakeSource(changes=(over,), budget=0.03))
    assert "within 3.0% of the program's own processor time the mode was changed once" in sentence
    assert "at 1.0 s, to sampling once in 512 KiB, as recording took 4.1% of it" in sentence
    (sentence,) = caveats(FakeSource(changes=(over, within), budget=0.03))
    assert "2 times" in sentence
    assert sentence.endswith("in the end exact recording.")


def test_pauses_are_told_with_their_length() -> None:
    pause = ModeChange(10**9, Mode.PAUSED, 0, ChangeReason.ASKED, 0.0)
    resumed = ModeChange(2 * 10**9, Mode.EXACT, 0, ChangeReason.ASKED, 0.0)
    (sentence,) = caveats(FakeSource(changes=(pause, resumed), paused_ns=10**9))
    assert sentence.startswith("Recording was paused once, for 1.0 s in all")
    (sentence,) = caveats(FakeSource(changes=(pause, resumed, pause), paused_ns=3 * 10**9))
    assert sentence.startswith("Recording was paused 2 times, for 3.0 s in all")


def test_pauses_beyond_the_changes_that_are_kept_are_told() -> None:
    over = ModeChange(10**9, Mode.SAMPLED, 512 << 10, ChangeReason.OVER, 0.0412)
    source = FakeSource(changes=(over,), change_count=2, budget=0.03, paused_ns=10**9)
    assert "Recording was paused at least once, for 1.0 s in all" in caveats(source)[-1]


def test_a_pause_puts_totals_off_where_blocks_may_be_sampled() -> None:
    pause = ModeChange(10**9, Mode.PAUSED, 0, ChangeReason.ASKED, 0.0)
    light = FakeSource(mode="sampled", live_unit=LiveUnit.USABLE, changes=(pause,), paused_ns=10**9)
    told = caveats(light)
    assert not any("totals are exact" in one for one in told)
    assert any("allocated during a pause" in one and "too low" in one for one in told)
    assert any("during a pause" in one and "too high" in one for one in told)
    exact = caveats(FakeSource(changes=(pause,), paused_ns=10**9))
    assert not any("too low" in one or "too high" in one for one in exact)


def test_what_a_forked_process_holds_is_not_called_exact() -> None:
    told = caveats(FakeSource(mode="sampled", live_unit=LiveUnit.USABLE, is_forked=True))
    assert not any("totals are exact" in one for one in told)


MANY = FakeSite(
    (frame("f"),),
    allocations=100_000,
    frees=60_000,
    bytes_allocated=10**7,
    peak_bytes=10**6,
)


@pytest.mark.parametrize("kind", LossKind)
def test_what_changes_no_number_by_a_per_cent_is_no_caveat(kind: LossKind) -> None:
    small = FakeSource([MANY], loss_items={kind: 399})
    assert caveats(small) == ()
    (sentence,) = list_small(small, small.sites())
    assert "399 " in sentence
    grave = FakeSource([MANY], loss_items={kind: 1_600})
    never = kind in (LossKind.INHERITED_FREE, LossKind.SNAPSHOT)
    assert (len(caveats(grave)), len(list_small(grave, grave.sites()))) == (not never, never)


@pytest.mark.parametrize(("error", "told"), [(9_999, 0), (10_000, 1)])
def test_a_peak_is_told_of_that_may_be_a_per_cent_higher(error: int, told: int) -> None:
    source = FakeSource([MANY], peak_error_bytes=error)
    assert len(caveats(source)) == told
    assert len(list_small(source, source.sites())) == 1 - told


@pytest.mark.parametrize(("off", "told"), [(9_900, 0), (10_000, 1), (-10_102, 1)])
def test_shares_are_told_of_that_miss_the_peak_by_a_per_cent(off: int, told: int) -> None:
    source = FakeSource([MANY], peak_bytes=10**6 - off)
    assert len(caveats(source)) == told
    assert len(list_small(source, source.sites())) == 1 - told


def test_outputs_and_marks_change_no_number() -> None:
    marks = [Mark(n, "mark") for n in range(1, 401)]
    source = FakeSource([MANY], named_moments=marks, unwritten_outputs=3, dropped_marks=3)
    assert caveats(source) == ()
    assert list_small(source, source.sites()) == ("Had no room for 3 marks.",)
    source.dropped_marks = 4
    assert caveats(source) == ("Had no room for 4 marks.",)


@pytest.mark.parametrize(("off", "text"), [(1536, "1.5 KiB more"), (-100, "100 B less")])
def test_shares_that_miss_the_peak_are_told(off: int, text: str) -> None:
    sites = [FakeSite((frame("f"),), allocations=1, bytes_allocated=9000, peak_bytes=9000)]
    (sentence,) = caveats(FakeSource(sites, peak_bytes=9000 - off))
    assert f"add up to {text} than the peak" in sentence
    assert caveats(FakeSource(sites, peak_bytes=9000)) == ()
    assert caveats(FakeSource(sites, peak_bytes=1, state=ProcessState.RUNNING)) == ()
