"""The closing lines of a run: what each recorded process allocated, and where to look further."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from heapglass.analysis.material import Figures, is_loss_material, is_material
from heapglass.launch.session import Session
from heapglass.launch.voice import short_name
from heapglass.recording import schema
from heapglass.recording.file.liveness import EXEC, EXITED, KILLED, RUNNING, SIGNALED
from heapglass.recording.glance import Glance
from heapglass.text import shell_word
from heapglass.units import format_compact, format_count, format_duration, format_size

MOST_CHILDREN = 20  # a build starts thousands
_LONGEST_TITLE, _CUT_TITLE = 50, 47

LOSS_WORDS = {
    "reentrant": "allocations inside a signal handler",
    "ledger_full": "allocations that found no room",
    "sites_full": "allocations without a site of their own",
    "counters_full": "events not counted",
    "early": "allocations before recording began",
    "missed_free": "frees not seen",
    "unknown_free": "frees of unknown blocks",
    "inherited_free": "frees of blocks got from the parent process",
    "stack_depth": "stacks cut at the depth limit",
    "stack_no_rule": "stacks ending in code without unwind information",
    "stack_bounds": "stacks that left their memory",
    "stack_bad_rule": "stacks with unwind information not understood",
    "histogram": "values in no histogram",
    "snapshot": "snapshots skipped",
    "thread": "events of threads without a record",
    "clock": "events dated too early",
}

REASON_WORDS = {
    "disk_full": "there was no space left for the file",
    "budget": "it has reached the size that it may have",
    "no_memory": "the kernel refused memory",
    "internal": "a check inside the recorder failed",
    "cannot_grow": "the file was out of reach, or the program's sandbox let it grow no more",
    "file_lost": "its file was cut short, or its disk failed",
    "file_overwritten": "something else was written over its file",
}

_LEFT = {  # when what is left was live, by how the process stands
    RUNNING: "now live",
    EXITED: "live at exit",
    EXEC: "live at exec",
    SIGNALED: "live at its end",
    KILLED: "live at its end",
}


def closing_lines(
    glances: Sequence[Glance], pid: int, session: Session, directory: str
) -> Iterator[str]:
    """For the process `pid` that was started, then for the others, as seen from `directory`."""
    main = next((g for g in reversed(glances) if g.header.pid == pid), None)
    if main is None:
        yield "the program itself was not recorded, but others that it started were"
    else:
        yield from _main_lines(main)
        yield from _where_lines(main, session, directory)
    others = [g for g in glances if g is not main]
    yield from (_child_line(g, directory) for g in others[:MOST_CHILDREN])
    if len(others) > MOST_CHILDREN:
        yield f"... and {_counted(len(others) - MOST_CHILDREN, 'recording')} more"


def _main_lines(main: Glance) -> Iterator[str]:
    sums = main.sums
    yield (
        f"{_who(main)} ran {format_duration(main.duration_ns)}: "
        f"{_counted(sums.allocations, 'allocation')}, {format_size(sums.bytes_allocated)}; "
        f"peak {format_size(main.peak_bytes)}; {_left(main)}"
    )
    if main.sample_bytes:
        every = format_size(main.sample_bytes)
        yield f"sampled, once in {every}: sites are estimates; what is live counts usable bytes"
    if main.sums.counts_usable and (main.header.paused_ns or main.header.paused_since):
        yield "recording was paused: live and peak are off by what was allocated or freed then"
    if losses := ", ".join(_losses(main)):
        yield f"not seen, or only in part: {losses}"
    error = main.header.peak_error_bytes
    if is_material(error, main.peak_bytes):
        yield f"the peak may be up to {format_size(error)} higher: threads are added up in batches"
    if main.header.modules > schema.MODULES:
        loads = _counted(main.header.modules - schema.MODULES, "load")
        yield f"no room to note {loads} of libraries: their code has no names"
    if main.header.output_losses:
        times = _counted(main.header.output_losses, "time")
        yield f"a text output beside the recording could not be written: {times}"
    if main.reason:
        since = format_duration(main.header.ladder_ns)
        why = REASON_WORDS.get(main.reason, main.reason)
        yield f"recording is incomplete ({main.ladder}) from {since} on: {why}"


def _where_lines(main: Glance, session: Session, directory: str) -> Iterator[str]:
    if session.is_elsewhere(main.path):
        wanted, found = session.directory, os.path.dirname(main.path)
        yield f"no recording could be made in {wanted or 'its directory'}: it is in {found}"
    name = short_name(main.path, directory)
    yield f"recorded in {name}; see: heapglass summary {shell_word(name)}"


def _child_line(child: Glance, directory: str) -> str:
    lost = ", ".join(_losses(child))
    losses = f"; not seen, or only in part: {lost}" if lost else ""
    return (
        f"{_which(child)}, {_standing(child)}: {_counted(child.sums.allocations, 'allocation')}; "
        f"peak {format_size(child.peak_bytes)}; {_left(child)}{losses}; "
        f"in {short_name(child.path, directory)}"
    )


def _who(found: Glance) -> str:
    return f"{found.name or 'process'} ({found.header.pid})"


def _which(child: Glance) -> str:
    """By its title, if it has one: workers of one server differ in nothing else."""
    title = child.title if len(child.title) <= _LONGEST_TITLE else f"{child.title[:_CUT_TITLE]}..."
    return f"{title} ({child.header.pid})" if title else _who(child)


def _standing(found: Glance) -> str:
    if found.state == RUNNING:
        return "still running"
    return "before exec" if found.state == EXEC else "child"


def _left(found: Glance) -> str:
    left = _LEFT[found.state]
    sums = found.sums
    return f"{left}: {format_size(sums.live_bytes)} in {_counted(sums.live_blocks, 'block')}"


def _losses(found: Glance) -> Iterator[str]:
    """Those that may change a figure by one per cent or more; `heapglass doctor` has all."""
    sums = found.sums
    figures = Figures(
        sums.allocations,
        sums.frees,
        sums.live_blocks,
        # Samples are not counted as such; each that was not recalled was walked for.
        sums.stats["walks"] if found.sample_bytes else sums.allocations,
        sums.counts_usable,
    )
    for kind, events in found.losses.items():
        if is_loss_material(kind, events, figures):
            yield f"{LOSS_WORDS.get(kind, kind)} ({format_compact(events)})"


def _counted(count: int, noun: str) -> str:
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"
