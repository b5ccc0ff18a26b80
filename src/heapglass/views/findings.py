"""What there is to say about a recording: losses, stacks, peak, memory, file, history.

Each function looks at one subject and yields what it found; `list_findings` asks them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from posixpath import basename

from heapglass.analysis.cuts import Cut, find_cuts
from heapglass.analysis.material import CUTS, material_losses
from heapglass.analysis.peak import peak_difference_bytes
from heapglass.analysis.walks import WalkRates, walk_rates
from heapglass.model import (
    Finding,
    HeapSource,
    LiveUnit,
    Loss,
    Losses,
    LossKind,
    Process,
    ProcessState,
    Recorder,
    Severity,
    SiteTable,
    Totals,
    Workings,
)
from heapglass.text import printable
from heapglass.units import Units, format_compact, format_count, format_duration, format_size
from heapglass.views.caveats import (
    budget_sentences,
    ladder_sentences,
    loss_sentence,
    mark_sentences,
    module_sentences,
    output_sentences,
    pause_sentences,
    peak_sentences,
    sampling_sentences,
    share_sentences,
    usable_peak_sentences,
)
from heapglass.views.text.history import describe_history
from heapglass.views.text.loss_words import ADVICE, IN_NO_FILE

_MODULES_NAMED = 4
_OUTPUTS = "See that there is room where it goes, and that its reader takes it."
_FEWER_LOADS = "Record a shorter run, or have the program keep its libraries loaded."
_SMALL_SHARE = 0.01
_FEW_EVENTS = 10_000  # below, rates mean nothing and no time is lost
_LITTLE_SPACE = 64 << 20
_ORDER = (Severity.WARNING, Severity.NOTE, Severity.OK)


@dataclass(frozen=True, slots=True)
class Examined:
    """One recording at one moment, with what follows from it."""

    process: Process
    totals: Totals
    losses: Losses
    recorder: Recorder
    workings: Workings
    rates: WalkRates
    cuts: tuple[Cut, ...]
    material: frozenset[str]  # kinds of losses that may change a figure by one per cent or more
    site_count: int
    peak_difference: int | None
    units: Units


def examine(source: HeapSource, table: SiteTable, units: Units) -> Examined:
    losses, workings = source.losses, source.workings
    has_cuts = any(loss.kind in CUTS for loss in losses.items)
    return Examined(
        process=source.process,
        totals=source.totals,
        losses=losses,
        recorder=source.recorder,
        workings=workings,
        rates=walk_rates(workings.threads),
        cuts=find_cuts(source, table) if has_cuts else (),
        material=material_losses(source, table),
        site_count=len(table),
        peak_difference=peak_difference_bytes(source, table),
        units=units,
    )


def list_findings(seen: Examined) -> tuple[Finding, ...]:
    """The gravest first."""
    subjects = (_losses, _mode, _walks, _rare_walks, _rate, _peak, _memory, _file, _history, _host)
    found = [finding for subject in subjects for finding in subject(seen)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))


def whole_percent(share: float) -> str:
    """Rounded, but only all is 100%."""
    return f"{round(share * 100) if share == 1 else min(99, round(share * 100))}%"


def _losses(seen: Examined) -> Iterator[Finding]:
    for sentence in ladder_sentences(seen.losses):
        yield Finding(Severity.WARNING, "recording", sentence, _ladder_action(seen))
    for loss in seen.losses.items:
        yield _loss(loss, seen)
    for sentence in module_sentences(seen.losses):
        yield Finding(Severity.WARNING, "losses", sentence, _FEWER_LOADS)
    for sentence in mark_sentences(seen.losses):
        yield Finding(Severity.NOTE, "marks", sentence, "Give names to fewer moments.")
    for sentence in output_sentences(seen.losses):
        yield Finding(Severity.WARNING, "outputs", sentence, _OUTPUTS)
    if not seen.losses.items and seen.losses.ladder == "recording":
        yield Finding(Severity.OK, "losses", "Every event was seen, with its whole stack.")


def _ladder_action(seen: Examined) -> str:
    limit = "--memory" if seen.workings.memory_budget else "the process's limits (ulimit -v, -f)"
    return {
        "disk_full": "Record to where there is more space (-o, or HEAPGLASS_OUT).",
        "budget": f"Raise {limit}, or sample instead of recording everything.",
        "no_memory": "Raise the process's memory limit (ulimit -v, overcommit).",
        "cannot_grow": "Record to a path that the program can reach all its life (-o), such as"
        " outside a chroot; let its seccomp filter, if it has one, allow madvise.",
        "file_lost": "Leave the file alone while the program runs, and see to its disk.",
        "file_overwritten": "Leave the file alone while the program runs.",
    }.get(seen.losses.reason, "Please report this, with the recording.")


def _loss(loss: Loss, seen: Examined) -> Finding:
    advice = ADVICE[loss.kind]
    cuts = [cut for cut in seen.cuts if cut.reason == CUTS.get(loss.kind)]
    ended = sum(cut.allocations for cut in cuts)  # of samples, what they stand for
    severity = advice.severity if loss.kind in seen.material else Severity.NOTE
    text = loss_sentence(loss, seen.totals.live_unit)
    if cuts:
        is_exact = seen.recorder.mode == "exact"
        they = "They" if is_exact else f"With what samples stand for, about {format_count(ended)}"
        text += f" {they} end in {_modules(cuts)}."
    subject = "stacks" if loss.kind in CUTS else "losses"
    return Finding(severity, subject, text, _action(loss.kind, cuts))


def _action(kind: LossKind, cuts: list[Cut]) -> str:
    action = ADVICE[kind].action
    if kind is not LossKind.STACK_NO_RULE or all(cut.module for cut in cuts):
        return action
    # No way of building helps there.
    return f"{action} {IN_NO_FILE}" if any(cut.module for cut in cuts) else IN_NO_FILE


def _modules(cuts: list[Cut]) -> str:
    named = [
        f"{printable(basename(cut.module)) or 'code that is in no file'}"
        f" ({format_compact(cut.allocations)})"
        for cut in cuts[:_MODULES_NAMED]
    ]
    more = len(cuts) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _mode(seen: Examined) -> Iterator[Finding]:
    sampling = sampling_sentences(seen.recorder, seen.totals, seen.process, seen.units)
    for sentence in sampling:
        yield Finding(Severity.NOTE, "sampling", sentence, "Record without --sample to be exact.")
    for sentence in budget_sentences(seen.recorder, seen.units):
        yield Finding(Severity.NOTE, "budget", sentence, "Raise HEAPGLASS_BUDGET to record more.")
    for sentence in pause_sentences(seen.recorder):
        yield Finding(Severity.NOTE, "pauses", sentence)


def _walks(seen: Examined) -> Iterator[Finding]:
    rates = seen.rates
    share = rates.recalled_share
    if share is None or seen.recorder.mode != "exact":
        return
    frames = ""
    if rates.are_frames_known and rates.frames_per_walk is not None:
        frames = f", {rates.frames_per_walk:.1f} frames each"
    text = f"{whole_percent(share)} of stacks were recalled, the others walked{frames}."
    if share >= 0.5 or rates.allocations < _FEW_EVENTS:
        yield Finding(Severity.OK, "stacks", text)
        return
    yield Finding(
        Severity.NOTE,
        "stacks",
        f"{text} The program allocates from many places in turn, and walks are what costs most.",
        "See what it costs with 'heapglass bench -- COMMAND'; sampling walks far fewer stacks.",
    )


def _rare_walks(seen: Examined) -> Iterator[Finding]:
    """Ways off the fast path that a program may take often."""
    stats, walks = seen.recorder.stats, max(1, seen.rates.walks)
    rare = {
        "foreign_walks": "were on stacks other than their thread's own (coroutines, alternate"
        " signal stacks): each is walked in full.",
        "slow_walks": "met code whose unwind rules need every register: each is walked twice.",
    }
    for name, words in rare.items():
        if stats[name] > max(_FEW_EVENTS // 10, walks * _SMALL_SHARE):
            count = f"{format_count(stats[name])} walks ({stats[name] / walks:.0%})"
            yield Finding(Severity.NOTE, "stacks", f"{count} {words}")
    hits = seen.rates.rule_hit_share
    if hits is not None and hits < 0.99 and seen.rates.rule_misses > _FEW_EVENTS:
        text = f"Only {whole_percent(hits)} of unwind rules were at hand, the others parsed anew:"
        yield Finding(Severity.NOTE, "stacks", f"{text} the program runs through much code.")
    if stats["mismatches"]:
        count = format_count(stats["mismatches"])
        text = f"{count} stacks differ from what a second walk found."
        yield Finding(Severity.WARNING, "stacks", text, "Please report this, with the recording.")


def _rate(seen: Examined) -> Iterator[Finding]:
    events = seen.totals.allocations + seen.totals.frees
    if not events or not seen.process.duration_ns:
        return
    a_second = events * 10**9 / seen.process.duration_ns
    text = (
        f"{format_compact(round(a_second))} allocator calls a second: each 10 ns that recording"
        f" one takes are {a_second / 10**6:.1f}% of a processor."
    )
    yield Finding(Severity.OK, "rate", text)


def _peak(seen: Examined) -> Iterator[Finding]:
    if seen.process.state is ProcessState.RUNNING:
        difference = None
    else:
        difference = seen.peak_difference
    sentences = (
        *peak_sentences(seen.losses, seen.units),
        *usable_peak_sentences(seen.losses, seen.units),
        *share_sentences(difference, seen.units),
    )
    for sentence in sentences:
        yield Finding(Severity.NOTE, "peak", sentence)
    if not sentences and seen.totals.live_unit is LiveUnit.REQUESTED:
        yield Finding(Severity.OK, "peak", "The peak is exact, and so is each site's share of it.")


def _memory(seen: Examined) -> Iterator[Finding]:
    taken, peak = seen.recorder.memory_bytes, seen.totals.peak_bytes
    units = seen.units
    file = format_size(seen.recorder.file_bytes, units)
    private = format_size(seen.recorder.private_bytes, units)
    text = (
        f"heapglass took {format_size(taken, units)}: {file} in the recording, {private} outside;"
        f" the program's peak is {format_size(peak, units)}."
    )
    is_much = taken > max(_LITTLE_SPACE, peak // 2)
    action = "The tables below say what for." if is_much else ""
    yield Finding(Severity.NOTE if is_much else Severity.OK, "memory", text, action)
    budget = seen.workings.memory_budget
    if budget and taken > budget * 0.8 and seen.losses.ladder == "recording":
        share = f"{taken / budget:.0%} of its {format_size(budget, units)}"
        text = f"heapglass has used {share}: soon it will have to drop events."
        yield Finding(Severity.NOTE, "memory", text, "Raise --memory.")
    limit = seen.workings.site_limit
    if seen.site_count > limit // 2:
        text = f"{format_count(seen.site_count)} sites of at most {format_count(limit)} are in use."
        yield Finding(Severity.NOTE, "memory", text, "A smaller --depth makes fewer.")


def _file(seen: Examined) -> Iterator[Finding]:
    place, units = seen.workings.place, seen.units
    is_running = seen.process.state is ProcessState.RUNNING
    stored, free = format_size(place.stored_bytes, units), format_size(place.free_bytes, units)
    where = f"on {place.file_system}" if place.file_system else "on a file system not known"
    text = f"The recording takes {stored} {where}, which has {free} left."
    if not is_running and place.length_bytes > 2 * place.stored_bytes:
        length = format_size(place.length_bytes, units)
        text += f" It looks {length} large: copy it with cp --sparse=always or rsync -S."
    if place.file_system in ("tmpfs", "ramfs", "devtmpfs"):
        yield Finding(
            Severity.NOTE, "file", f"{text} That is memory.", "Record to a disk if it is scarce."
        )
    else:
        yield Finding(Severity.OK, "file", text)
    if is_running and place.free_bytes < _LITTLE_SPACE:
        text = f"Only {free} are left for the recording to grow."
        yield Finding(Severity.WARNING, "file", text, "Make room; what does not fit is dropped.")


def _history(seen: Examined) -> Iterator[Finding]:
    yield Finding(Severity.OK, "history", describe_history(seen.workings, seen.process.duration_ns))


def _host(seen: Examined) -> Iterator[Finding]:
    recorder = seen.recorder
    name = printable(basename(recorder.allocator)) or "not known"
    granule = recorder.granule_bytes
    text = f"The real malloc is in {name}; one record of the ledger covers {granule} bytes."
    yield Finding(Severity.OK, "allocator", text)
    if not seen.losses.events(LossKind.CLOCK):
        yield Finding(Severity.OK, "clock", "No event is dated wrong by more than 0.1 s.")
    if seen.workings.is_reserved_up_front:
        yield Finding(
            Severity.NOTE,
            "kernel",
            "The kernel has no MADV_POPULATE_WRITE: space was reserved up front, and the file"
            " cannot grow beyond it.",
            "Linux 5.14 or later reserves as it goes.",
        )
    if seen.process.state is ProcessState.KILLED:
        last = format_duration(seen.process.duration_ns)
        text = f"The process ended without notice, last seen after {last}; all until then is here."
        yield Finding(Severity.NOTE, "process", text)
