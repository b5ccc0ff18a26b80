"""The whole process on one page."""

from __future__ import annotations

from dataclasses import dataclass, field

from heapglass.analysis.counters import Errors
from heapglass.analysis.leaks import Remainder, find_remains
from heapglass.analysis.material import material_losses
from heapglass.analysis.narrowed import absent_counters, total_errors
from heapglass.analysis.order import SortKey, top_sites
from heapglass.analysis.peak import peak_difference_bytes
from heapglass.analysis.plumbing import Plumbing
from heapglass.model import (
    HeapSource,
    Losses,
    Mark,
    Process,
    ProcessState,
    Recorder,
    SiteTable,
    Totals,
)
from heapglass.text import printable, shell_word
from heapglass.units import Units, format_duration, format_size
from heapglass.views.annotated import AnnotatedView, build_annotated
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import SiteRow, build_rows
from heapglass.views.text.histogram import Bar, fold_histogram


@dataclass(frozen=True, slots=True)
class SummaryQuery:
    top: int = 5  # sites in each list
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class SummaryView:
    caveats: tuple[str, ...]
    process: Process
    thread_count: int
    site_count: int
    totals: Totals
    errors: Errors  # standard errors of those totals that are estimates
    peak_difference_bytes: int | None  # what the sites add up to then, less the peak
    losses: Losses
    recorder: Recorder
    remainder: Remainder
    at_peak: tuple[SiteRow, ...]  # by bytes live at the peak
    remaining: tuple[SiteRow, ...]  # by bytes live now, or at the end
    remaining_site_count: int
    annotated: AnnotatedView
    marks: tuple[Mark, ...]
    sizes: tuple[Bar, ...]  # of all allocations, in bytes
    lifetimes: tuple[Bar, ...]  # of all freed blocks, in ns
    warnings: tuple[str, ...]  # what kept frames from having names
    residency: tuple[str, ...]  # what of the process's memory the heap was; nothing of a moment
    absent: frozenset[str]  # counters that are not known of a moment


def build_summary(source: HeapSource, resolver: Resolver, query: SummaryQuery) -> SummaryView:
    process = source.process
    table = source.sites()
    peak_rows = top_sites(table, SortKey.PEAK, 0)[: query.top]
    remains = find_remains(process.state, table)
    remaining_rows = remains.rows[: query.top]
    shown = {int(table.id[row]) for row in (*peak_rows, *remaining_rows)}
    stacks = name_stacks(source, resolver, sorted(shown))
    absent = absent_counters(source)
    return SummaryView(
        caveats=list_caveats(source, table, query.units),
        process=process,
        thread_count=sum(one.first_seen_ns <= process.duration_ns for one in source.threads),
        site_count=len(table),
        totals=source.totals,
        errors=total_errors(source, table),
        peak_difference_bytes=peak_difference_bytes(source, table),
        losses=source.losses,
        recorder=source.recorder,
        remainder=remains.kind,
        at_peak=build_rows(table, peak_rows, stacks, query.plumbing),
        remaining=build_rows(table, remaining_rows, stacks, query.plumbing),
        remaining_site_count=len(remains.rows),
        annotated=build_annotated(source, resolver, max(1, query.top), query.plumbing),
        marks=tuple(source.marks()),
        # Histograms are counted over the whole run, and say nothing about a moment of it.
        sizes=() if absent else fold_histogram(source.size_histogram()),
        lifetimes=() if absent else fold_histogram(source.lifetime_histogram()),
        warnings=tuple(resolver.warnings),
        residency=() if absent else residency_sentences(source, table, query.units),
        absent=absent,
    )


def residency_sentences(
    source: HeapSource, table: SiteTable, units: Units = Units.IEC
) -> tuple[str, ...]:
    """The greatest RSS beside the heap's peak; `table` holds all sites of the source."""
    process, totals = source.process, source.totals
    greatest = process.greatest_rss
    if greatest is None or not greatest.bytes:
        return ()
    least = max(0, greatest.bytes - greatest.ours)
    most = max(least, greatest.at_most - greatest.ours)
    amounts = dict.fromkeys(format_size(size, units) for size in (least, most))
    said = f"RSS {' to '.join(amounts)}, heapglass's own taken out"
    peak = totals.peak_bytes + source.losses.peak_error_bytes
    if not _is_peak_whole(source, table):
        return (f"{said}.",)
    if peak > most:
        return (f"{said}: less than the heap's peak, not all of which was ever touched.",)
    own = " that it allocated itself" if process.is_forked else ""
    return (f"{said}: at most {format_size(peak, units)} of it was live heap{own}.",)


def _is_peak_whole(source: HeapSource, table: SiteTable) -> bool:
    """Whether the peak misses nothing: recorded from start to end, with room for everything."""
    missing = {"reentrant", "ledger_full", "counters_full", "early", "unknown_free", "thread"}
    is_whole = source.losses.ladder == "recording" and not source.recorder.was_paused
    return is_whole and not missing & material_losses(source, table)


def command_text(process: Process) -> str:
    """The command line as it could be typed; of a forked process its title, if it has one; the
    executable where neither is known."""
    if not process.argv:
        return printable(process.executable)
    if process.argv == (process.title,):
        return printable(process.title)
    return " ".join(_quote(argument) for argument in process.argv)


def state_text(process: Process) -> str:
    """How it stands and for how long: `exited with status 0 after 3.4 s`. A log without times
    has no duration, nor has a run below a tick of the clock."""
    duration = format_duration(process.duration_ns)
    after = f" after {duration}" if process.duration_ns else ""
    match process.state:
        case ProcessState.RUNNING:
            return f"running for {duration}"
        case ProcessState.EXITED if process.exit_status is None:
            return f"exited{after}"
        case ProcessState.EXITED:
            return f"exited with status {process.exit_status}{after}"
        case ProcessState.SIGNALED:
            return f"ended by signal {_signal_text(process.exit_signal)}{after}"
        case ProcessState.KILLED:
            return f"killed, last seen{after}" if after else "killed"
        case ProcessState.EXEC:
            return f"became another program{after}"


def _quote(argument: str) -> str:
    """As `shell_word`, but with double quotes where these leave the argument readable."""
    if "'" in argument and argument.isprintable() and not set(argument) & set('"$`\\!'):
        return f'"{argument}"'
    return shell_word(argument)


def _signal_text(number: int | None) -> str:
    if number is None:
        return "unknown"
    return f"{number} ({_SIGNALS[number]})" if number in _SIGNALS else str(number)


# Linux numbers, not this machine's: the recording may come from elsewhere.
_SIGNALS = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    14: "SIGALRM",
    15: "SIGTERM",
    24: "SIGXCPU",
    25: "SIGXFSZ",
    31: "SIGSYS",
}
