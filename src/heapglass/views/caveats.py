"""What the reader of any number must know first: losses and approximations, one sentence each.

Of losses, those that are material (analysis/material.py); `list_small` has the others.
"""

from __future__ import annotations

from heapglass.analysis.material import is_material, material_losses
from heapglass.analysis.narrowed import absent_counters, is_part
from heapglass.analysis.peak import peak_difference_bytes
from heapglass.launch.report import REASON_WORDS
from heapglass.model import (
    ChangeReason,
    HeapSource,
    LiveUnit,
    Loss,
    Losses,
    LossKind,
    Mode,
    ModeChange,
    Process,
    Recorder,
    SiteTable,
    Totals,
)
from heapglass.units import Units, format_count, format_duration, format_size

_GONE = "no number here includes them"
_OUTER = "their outer callers are missing"
_SENTENCES: dict[LossKind, tuple[str, str]] = {
    LossKind.REENTRANT: (
        "allocation",
        f"Missed {{}} that signal handlers made while heapglass was at work: {_GONE}.",
    ),
    LossKind.LEDGER_FULL: ("allocation", f"Had no room to record {{}}: {_GONE}."),
    LossKind.SITES_FULL: (
        "allocation",
        "Had no room for the stacks of {}: they are counted together as one site.",
    ),
    LossKind.COUNTERS_FULL: (
        "event",
        f"Had no room to count {{}}: {_GONE}, and blocks that they freed count as live.",
    ),
    LossKind.EARLY: ("allocation", f"Missed {{}} made before recording could start: {_GONE}."),
    LossKind.MISSED_FREE: (
        "free",
        "Missed {}, noticed when the memory was handed out again: counted as live for too long.",
    ),
    LossKind.UNKNOWN_FREE: ("free", f"Saw {{}} of blocks that were never recorded: {_GONE}."),
    LossKind.INHERITED_FREE: (
        "free",
        f"Saw {{}} of blocks that came from the parent process: {_GONE}.",
    ),
    LossKind.STACK_DEPTH: (
        "allocation",
        f"Cut the stacks of {{}} at the depth limit: {_OUTER}.",
    ),
    LossKind.STACK_NO_RULE: (
        "allocation",
        f"Ended the stacks of {{}} early, at code without unwind information: {_OUTER}.",
    ),
    LossKind.STACK_BOUNDS: (
        "allocation",
        f"Ended the stacks of {{}} early, where a frame pointed outside the stack: {_OUTER}.",
    ),
    LossKind.STACK_BAD_RULE: (
        "allocation",
        f"Ended the stacks of {{}} early, at unwind information not understood: {_OUTER}.",
    ),
    LossKind.HISTOGRAM: (
        "value",
        "Had no room for {} in the histograms: they show that much less.",
    ),
    LossKind.SNAPSHOT: ("snapshot", "Skipped or thinned out {}: the history is coarser there."),
    LossKind.THREAD: (
        "event",
        f"Missed {{}} of threads that no record could be made for: {_GONE}.",
    ),
    LossKind.CLOCK: (
        "event",
        "Dated {} back to before a pause of their thread: these ages and lifetimes are off by it.",
    ),
}
# Where blocks may be sampled totals are counted apart from what is recorded of a block.
_LIGHT_SENTENCES: dict[LossKind, tuple[str, str]] = {
    LossKind.LEDGER_FULL: (
        "allocation",
        "Had no room to record {}: totals include them, sites do not.",
    ),
    LossKind.COUNTERS_FULL: (
        "event",
        "Had no room to count {} by site: totals include them, sites do not.",
    ),
}


def list_caveats(source: HeapSource, table: SiteTable, units: Units = Units.IEC) -> tuple[str, ...]:
    """What makes a number other than whole and exact, by one per cent or more, or nobody knows by
    how much; empty when nothing does. `table` holds all sites of the source."""
    losses = source.losses
    material, _ = _losses(source, table, units)
    return (
        *source.notes,
        *ladder_sentences(losses),
        *material,
        *module_sentences(losses),
        *(part_sentences if is_part(source) else whole_sentences)(source, units),
        *budget_sentences(source.recorder, units),
        *pause_sentences(source.recorder),
        *annotation_sentences(source.annotated(), units),
    )


def list_small(source: HeapSource, table: SiteTable, units: Units = Units.IEC) -> tuple[str, ...]:
    """Losses and approximations that change no number by one per cent."""
    _, small = _losses(source, table, units)
    return small


def _losses(
    source: HeapSource, table: SiteTable, units: Units
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The material ones, and the others."""
    sentences: dict[bool, list[str]] = {True: [], False: []}
    losses, totals = source.losses, source.totals
    material = material_losses(source, table)
    for loss in losses.items:
        if loss.events:
            sentences[loss.kind in material].append(loss_sentence(loss, totals.live_unit))
    difference = peak_difference_bytes(source, table)
    amounts = (
        (peak_sentences(losses, units), losses.peak_error_bytes, totals.peak_bytes),
        (share_sentences(difference, units), abs(difference or 0), totals.peak_bytes),
        (mark_sentences(losses), losses.dropped_marks, len(source.marks())),
    )
    for those, lost, figure in amounts:
        sentences[is_material(lost, figure)].extend(those)
    # No list shows that peak: where it stands its error does, too.
    sentences[False].extend(usable_peak_sentences(losses, units))
    return tuple(sentences[True]), tuple(sentences[False])


def loss_sentence(loss: Loss, live_unit: LiveUnit) -> str:
    """`live_unit` is that of the totals that are shown."""
    is_light = live_unit is LiveUnit.USABLE
    noun, sentence = (_SENTENCES | _LIGHT_SENTENCES if is_light else _SENTENCES)[loss.kind]
    return sentence.format(_counted(loss.events, noun))


def module_sentences(losses: Losses) -> tuple[str, ...]:
    if not losses.dropped_modules:
        return ()
    loads = "load" if losses.dropped_modules == 1 else "loads"
    sentence = (
        f"Had no room to note {format_count(losses.dropped_modules)} {loads} of libraries: their"
        " code has no names, and stacks through one may be counted with another's."
    )
    return (sentence,)


def ladder_sentences(losses: Losses) -> tuple[str, ...]:
    when = format_duration(losses.since_ns)
    reason = REASON_WORDS.get(losses.reason, losses.reason or "of an unknown reason")
    if losses.ladder == "off":
        return (f"Recording stopped at {when}, because {reason}: nothing later is in any number.",)
    if losses.ladder == "dropping":
        return (f"Recording is incomplete since {when}, because {reason}.",)
    return ()


def sampling_sentences(
    recorder: Recorder, totals: Totals, process: Process, units: Units
) -> tuple[str, ...]:
    """What is estimated, and what totals count, in a recording in which blocks may be sampled."""
    is_light = totals.live_unit is LiveUnit.USABLE
    strangers = _stranger_sentences(recorder, process) if is_light else ()
    sentences = []
    if recorder.mode != "exact":
        exact = "of totals, only what was allocated is exact" if strangers else "totals are exact"
        sentences.append(
            f"{sampled_text(recorder, units)}: sites are estimates and have standard errors;"
            f" {exact}."
        )
    if is_light:
        sentences.append(
            "Freed, live and peak totals count usable bytes, as the allocator set them aside."
        )
    return (*sentences, *strangers)


def _stranger_sentences(recorder: Recorder, process: Process) -> tuple[str, ...]:
    """Which frees are counted though their blocks are not, or the other way round: where blocks
    may be sampled, a free cannot tell whether its block was counted."""
    sentences = []
    if process.is_forked:
        sentences.append(
            "Frees of blocks that came from the parent process are counted too: live and peak"
            " totals are too low by these."
        )
    if recorder.was_paused:
        sentences.append(
            "Frees of blocks that were allocated during a pause are counted too: live and peak"
            " totals are too low by these."
        )
        sentences.append(
            "Frees during a pause are counted of recorded blocks alone: live and peak totals are"
            " too high by the others."
        )
    return tuple(sentences)


def sampled_text(recorder: Recorder, units: Units = Units.IEC) -> str:
    """At which interval, or between which two; and whether all the time."""
    ends = dict.fromkeys(sampling_intervals(recorder))
    every = " to ".join(format_size(one, units) for one in ends)
    return f"Sampled {'in part, ' if is_partly_sampled(recorder) else ''}once in about {every}"


def sampling_intervals(recorder: Recorder) -> tuple[int, int]:
    """The least and the most that there were."""
    sampled = [change for change in recorder.changes if change.mode is Mode.SAMPLED]
    intervals = {recorder.sample_bytes, *(change.sample_bytes for change in sampled)}
    return min(intervals), max(intervals)


def is_partly_sampled(recorder: Recorder) -> bool:
    return any(change.mode is Mode.EXACT for change in recorder.changes)


def whole_sentences(source: HeapSource, units: Units) -> tuple[str, ...]:
    return sampling_sentences(source.recorder, source.totals, source.process, units)


def part_sentences(source: HeapSource, units: Units) -> tuple[str, ...]:
    """The same for a part of a heap."""
    if source.recorder.mode == "exact":
        return ()
    sampled = (
        f"{sampled_text(source.recorder, units)}: sites are estimates and have standard errors,"
        " and so have totals, which are what sites add up to."
    )
    if not absent_counters(source):
        return (sampled,)
    then = "Errors of then were not recorded: they are taken from those of the whole run."
    return sampled, then


def budget_sentences(recorder: Recorder, units: Units) -> tuple[str, ...]:
    """When recording was cut back to its budget, and when it was extended again."""
    reasons = (ChangeReason.OVER, ChangeReason.WITHIN)
    changes = [change for change in recorder.changes if change.reason in reasons]
    if not changes:
        return ()
    first, last = changes[0], changes[-1]
    times = _times(len(changes))
    sentence = (
        f"To stay within {recorder.budget:.1%} of the program's own processor time the mode was"
        f" changed {times}: first at {format_duration(first.time_ns)}, to"
        f" {_mode_text(first, units)}, as recording took {first.cost:.1%} of it; in the end"
        f" {_mode_text(last, units)}."
    )
    return (sentence,)


def _mode_text(change: ModeChange, units: Units) -> str:
    if change.mode is Mode.SAMPLED:
        return f"sampling once in {format_size(change.sample_bytes, units)}"
    return f"{change.mode.value} recording"


def pause_sentences(recorder: Recorder) -> tuple[str, ...]:
    if not recorder.was_paused:
        return ()
    times = _times(max(1, sum(change.mode is Mode.PAUSED for change in recorder.changes)))
    if recorder.change_count > len(recorder.changes):
        times = f"at least {times}"
    sentence = (
        f"Recording was paused {times}, for {format_duration(recorder.paused_ns)} in all: what was"
        " allocated then is in no number."
    )
    return (sentence,)


def peak_sentences(losses: Losses, units: Units) -> tuple[str, ...]:
    if not losses.peak_error_bytes:
        return ()
    error = format_size(losses.peak_error_bytes, units)
    return (f"The peak may have been up to {error} higher: threads are added up in batches.",)


def usable_peak_sentences(losses: Losses, units: Units) -> tuple[str, ...]:
    if not losses.usable_peak_error_bytes:
        return ()
    error = format_size(losses.usable_peak_error_bytes, units)
    return (f"The most that was set aside may be {error} off: threads tell of it in batches.",)


def output_sentences(losses: Losses) -> tuple[str, ...]:
    if not losses.unwritten_outputs:
        return ()
    times = _times(losses.unwritten_outputs)
    return (f"A text output beside this recording could not be written {times}.",)


def mark_sentences(losses: Losses) -> tuple[str, ...]:
    if not losses.dropped_marks:
        return ()
    return (f"Had no room for {_counted(losses.dropped_marks, 'mark')}.",)


def annotation_sentences(table: SiteTable, units: Units) -> tuple[str, ...]:
    if not len(table):
        return ()
    live = format_size(int(table.live_bytes.sum()), units)
    sentence = (
        f"The program annotated {_counted(int(table.allocations.sum()), 'block')} of its own"
        f" allocators, {live} of them live: they lie inside of other memory, so no total and no"
        " other list has them."
    )
    return (sentence,)


def _counted(count: int, noun: str) -> str:
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{format_count(count)} times"


def share_sentences(difference: int | None, units: Units) -> tuple[str, ...]:
    if not difference:
        return ()
    off = f"{format_size(abs(difference), units)} {'more' if difference > 0 else 'less'}"
    return (f"At the peak the sites add up to {off} than the peak: events were under way then.",)
