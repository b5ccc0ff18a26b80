"""The process as a whole, in the model's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.model import (
    ChangeReason,
    GreatestRss,
    LiveUnit,
    Loss,
    Losses,
    LossKind,
    Mode,
    ModeChange,
    Process,
    ProcessState,
    Recorder,
    Thread,
    Totals,
)
from heapglass.recording import modes, schema
from heapglass.recording.process import (
    arguments,
    duration,
    program_name,
    standing,
    step_down_reason,
    text,
)
from heapglass.recording.process import title as process_title
from heapglass.recording.threads import Sums, read_threads

if TYPE_CHECKING:
    from heapglass.recording.file.image import Image

_USABLE_PEAK_SINCE = 3  # the version that brought header.usable_peak


def process(image: Image) -> Process:
    header = image.header
    state = ProcessState(standing(image))
    title = process_title(image, state)
    is_forked = bool(header.flags & schema.FLAG_FORKED)
    return Process(
        pid=header.pid,
        parent_pid=header.parent_pid,
        uid=header.uid,
        executable=text(header.executable),
        argv=(title,) if is_forked and title else arguments(header),
        working_directory=text(header.working_directory),
        host=text(header.host),
        state=state,
        exit_status=header.exit_status if state is ProcessState.EXITED else None,
        exit_signal=header.exit_signal if state is ProcessState.SIGNALED else None,
        started_wall_ns=header.start_wall_ns,
        duration_ns=duration(image, state),
        is_forked=is_forked,
        session=header.session,
        name=program_name(header),
        title=title,
        libc=text(header.libc),
        allocator=text(header.allocator_name),
        greatest_rss=_greatest_rss(header),
    )


def _greatest_rss(header: schema.Header) -> GreatestRss | None:
    if not header.greatest_rss:
        return None
    return GreatestRss(
        bytes=header.greatest_rss,
        ours=min(header.greatest_rss_ours, header.greatest_rss),
        at_most=max(header.greatest_rss, header.unknown_rss),
    )


def totals(image: Image) -> Totals:
    sums = Sums(image)
    return Totals(
        allocations=sums.allocations,
        frees=sums.frees,
        bytes_allocated=sums.bytes_allocated,
        bytes_freed=sums.bytes_freed,
        live_blocks=sums.live_blocks,
        live_bytes=sums.live_bytes,
        peak_bytes=sums.peak_bytes,
        peak_time_ns=sums.peak_ns,
        temporary=sums.temporary,
        reallocs=sums.reallocs,
        usable_live_bytes=sums.usable_live_bytes,
        live_unit=LiveUnit.USABLE if sums.counts_usable else LiveUnit.REQUESTED,
        usable_peak_bytes=_usable_peak(image.header, sums),
    )


def exact_totals(image: Image) -> dict[str, int]:
    """What is known exactly of all blocks, by the names of a site table's columns. In a child what
    its parent allocated is freed, too, and after a pause what was in no count: then nothing is
    known of what is live."""
    sums = Sums(image)
    totals = {
        "allocations": sums.allocations,
        "frees": sums.frees,
        "temporary": sums.frees,
        "bytes_allocated": sums.bytes_allocated,
        "realloc_in_place": sums.reallocs,
        "realloc_moved": sums.reallocs,
    }
    if not image.header.flags & schema.FLAG_FORKED and not modes.was_paused(image):
        # Usable bytes, if it is these, are never fewer than those asked for.
        totals |= {"live_blocks": sums.live_blocks, "live_bytes": sums.live_bytes}
        totals |= {"bytes_freed": sums.bytes_freed, "peak_bytes": sums.peak_bytes}
    return totals


def ended_blocks(image: Image) -> int | None:
    """How many lifetimes there are: realloc ends none. None where that is not known."""
    totals = exact_totals(image)
    if "live_blocks" not in totals:
        return None
    return totals["frees"] - totals["realloc_moved"]


def _usable_peak(header: schema.Header, sums: Sums) -> int | None:
    if sums.counts_usable:
        return sums.peak_bytes
    if header.version < _USABLE_PEAK_SINCE:
        return None
    return max(header.usable_peak, sums.usable_live_bytes)


def losses(image: Image) -> Losses:
    header = image.header
    events = Sums(image).losses
    items = [Loss(LossKind(kind), number) for kind, number in events.items() if number]
    return Losses(
        items=tuple(items),
        ladder=schema.LADDERS[header.ladder],
        reason=step_down_reason(header),
        since_ns=header.ladder_ns,
        peak_error_bytes=header.peak_error_bytes,
        usable_peak_error_bytes=header.usable_peak_error,
        unwritten_outputs=header.output_losses,
        dropped_marks=max(0, header.marks - schema.MARKS),
        dropped_modules=max(0, header.modules - schema.MODULES),
    )


def recorder(image: Image) -> Recorder:
    header = image.header
    changes = modes.read_changes(image)
    sample_bytes = modes.sample_bytes(image, changes)
    return Recorder(
        mode="sampled" if sample_bytes else "exact",
        sample_bytes=sample_bytes,
        format_version=header.version,
        depth_limit=header.depth_limit,
        granule_bytes=1 << header.granule_shift,
        snapshot_interval_ns=header.snapshot_interval_ns,
        snapshot_churn_bytes=header.snapshot_churn_bytes,
        allocator=text(header.allocator),
        memory_bytes=header.file_reserved_bytes + header.private_bytes,
        file_bytes=header.file_reserved_bytes,
        private_bytes=header.private_bytes,
        stats=Sums(image).stats,
        changes=tuple(map(_change, changes)),
        change_count=header.mode_changes,
        paused_ns=modes.paused_ns(image, duration(image, standing(image))),
        budget=header.budget_ppm / 1e6,
    )


_MODES = {
    schema.MODE_EXACT: Mode.EXACT,
    schema.MODE_SAMPLED: Mode.SAMPLED,
    schema.MODE_PAUSED: Mode.PAUSED,
}
_REASONS = {
    schema.CHANGE_START: ChangeReason.START,
    schema.CHANGE_ASKED: ChangeReason.ASKED,
    schema.CHANGE_OVER: ChangeReason.OVER,
    schema.CHANGE_WITHIN: ChangeReason.WITHIN,
}


def _change(record: schema.ModeChange) -> ModeChange:
    return ModeChange(
        time_ns=record.time,
        mode=_MODES[record.mode],
        sample_bytes=record.sample_bytes,
        reason=_REASONS[record.reason],
        cost=record.cost_ppm / 1e6,
    )


def threads(image: Image) -> list[Thread]:
    is_light = bool(image.header.flags & schema.FLAG_USABLE)
    return [_thread(record, is_light=is_light) for record in read_threads(image)]


def _thread(record: schema.ThreadRecord, *, is_light: bool) -> Thread:
    """In a light recording a thread knows neither what blocks that it freed were asked for, nor
    which of those that were not sampled were temporary."""
    net = record.bytes_allocated - record.bytes_freed
    usable = record.usable_allocated - record.usable_freed
    return Thread(
        tid=record.tid,
        name=text(record.name),
        shard=record.shard,
        first_seen_ns=record.first_seen,
        last_seen_ns=record.last_seen,
        allocations=record.allocations,
        frees=record.frees,
        bytes_allocated=record.bytes_allocated,
        bytes_freed=record.usable_freed if is_light else record.bytes_freed,
        net_bytes=usable if is_light else net,
        temporary=None if is_light else record.temporary,
    )
