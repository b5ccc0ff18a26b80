"""The recorded process as a whole: who it was, its totals, what the recorder missed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProcessState(StrEnum):
    """How the process stands now, as far as anyone can tell."""

    RUNNING = "running"
    EXITED = "exited"
    SIGNALED = "signaled"  # ended by a signal, seen by its launcher
    KILLED = "killed"  # ended without notice
    EXEC = "exec"  # replaced by another program, which has its own recording


@dataclass(frozen=True, slots=True)
class GreatestRss:
    """The most memory that was ever resident, all kinds of it, as the kernel counts it."""

    bytes: int
    ours: int  # of them, the recorder's own; the rest is the program's
    at_most: int  # more than `bytes` where it may have been more, unseen


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    parent_pid: int
    uid: int
    executable: str
    argv: tuple[str, ...]
    working_directory: str
    host: str
    state: ProcessState
    exit_status: int | None
    exit_signal: int | None
    started_wall_ns: int
    duration_ns: int  # until its end, or until now while it runs
    is_forked: bool
    session: int
    libc: str = ""  # with its version; "": not known
    allocator: str = ""  # what it is, where Recorder has its file; "": not known
    greatest_rss: GreatestRss | None = None  # None: not known
    name: str = ""  # by which it was started: that of a link or a script, not of what is behind it
    title: str = ""  # that it has written over its arguments; "": none


class LiveUnit(StrEnum):
    """What freed, live and peak bytes are counted in."""

    REQUESTED = "requested"  # as the program asked for them
    USABLE = "usable"  # as the allocator set them aside: where sampling, only these are known


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over the whole process, exact but for `temporary` where sampling. Bytes allocated are
    requested bytes, all others are as `live_unit` says."""

    allocations: int
    frees: int
    bytes_allocated: int
    bytes_freed: int
    live_blocks: int
    live_bytes: int
    peak_bytes: int
    peak_time_ns: int  # since the recording's start
    temporary: int
    reallocs: int
    usable_live_bytes: int  # what the allocator set aside for the live blocks
    live_unit: LiveUnit = LiveUnit.REQUESTED
    usable_peak_bytes: int | None = None  # the most it ever had set aside; None: not known

    @property
    def slack_bytes(self) -> int:
        """Bytes set aside but not asked for; 0 where nobody knows what was asked for."""
        return max(0, self.usable_live_bytes - self.live_bytes)


class LossKind(StrEnum):
    """What was not seen or had to be approximated; same order as `enum hg_loss`."""

    REENTRANT = "reentrant"
    LEDGER_FULL = "ledger_full"
    SITES_FULL = "sites_full"
    COUNTERS_FULL = "counters_full"
    EARLY = "early"
    MISSED_FREE = "missed_free"
    UNKNOWN_FREE = "unknown_free"
    INHERITED_FREE = "inherited_free"
    STACK_DEPTH = "stack_depth"
    STACK_NO_RULE = "stack_no_rule"
    STACK_BOUNDS = "stack_bounds"
    STACK_BAD_RULE = "stack_bad_rule"
    HISTOGRAM = "histogram"
    SNAPSHOT = "snapshot"
    THREAD = "thread"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Loss:
    kind: LossKind
    events: int


@dataclass(frozen=True, slots=True)
class Losses:
    """Every loss with a non-zero count, and how far the recorder had to step down."""

    items: tuple[Loss, ...]
    ladder: str  # "recording", "dropping" or "off"
    reason: str  # "" while recording
    since_ns: int  # when the last step down was, since start
    peak_error_bytes: int  # how far the peak may be below the truth
    usable_peak_error_bytes: int = 0  # likewise, of `Totals.usable_peak_bytes`, either way
    unwritten_outputs: int = 0  # times that a text output beside the recording was not written
    dropped_marks: int = 0  # that there was no room for
    dropped_modules: int = 0  # likewise: frames in them have no names

    def events(self, kind: LossKind) -> int:
        return next((loss.events for loss in self.items if loss.kind is kind), 0)


class Mode(StrEnum):
    EXACT = "exact"
    SAMPLED = "sampled"
    PAUSED = "paused"


class ChangeReason(StrEnum):
    START = "start"  # as it was asked for when the program began
    ASKED = "asked"  # the program itself paused or resumed
    OVER = "over_budget"
    WITHIN = "within_budget"


@dataclass(frozen=True, slots=True)
class ModeChange:
    """From then on events were recorded like this."""

    time_ns: int  # since the recording's start
    mode: Mode
    sample_bytes: int  # 0: exactly
    reason: ChangeReason
    cost: (
        float  # what recording was measured to take, as a share of the program's own processor time
    )


@dataclass(frozen=True, slots=True)
class Recorder:
    """How it was recorded and what that cost in memory."""

    mode: str  # "exact", or "sampled" where any of it was
    sample_bytes: int  # the interval, the last one if there were several
    format_version: int
    depth_limit: int
    granule_bytes: int
    snapshot_interval_ns: int
    snapshot_churn_bytes: int
    allocator: str
    memory_bytes: int  # all of it: file and private
    file_bytes: int
    private_bytes: int
    stats: dict[str, int]
    changes: tuple[ModeChange, ...] = ()  # the first of them, see `change_count`
    change_count: int = 0
    paused_ns: int = 0
    budget: float = 0.0  # share of processor time that the mode was chosen by; 0: none

    @property
    def was_paused(self) -> bool:
        """A pause may be shorter than a tick of the clock, or later than the changes kept."""
        return self.paused_ns > 0 or any(change.mode is Mode.PAUSED for change in self.changes)


@dataclass(frozen=True, slots=True)
class Module:
    """One generation of a loaded object."""

    index: int
    path: str
    start: int
    end: int
    bias: int
    build_id: str  # hex, "" if none
    file_size: int
    file_mtime_ns: int
    is_main: bool
    is_vdso: bool


@dataclass(frozen=True, slots=True)
class Thread:
    tid: int
    name: str
    shard: int
    first_seen_ns: int
    last_seen_ns: int
    allocations: int
    frees: int
    bytes_allocated: int
    bytes_freed: int  # in the unit of `Totals.live_unit`
    net_bytes: int  # allocated less freed, in the same unit; others' blocks may be freed here
    temporary: int | None  # None: not known, where blocks are sampled
