"""What the user asked of one run."""

from __future__ import annotations

from heapglass.tuples import NamedTuple


class RunOptions(NamedTuple):
    """None: not given, so the environment or the library's default holds."""

    command: tuple[str, ...]
    output: str | None = None
    is_forced: bool = False
    is_quiet: bool = False
    is_packed: bool = False  # recordings are packed when all is over
    follows_children: bool = True
    depth: int | None = None
    snapshot_seconds: str | None = None  # checked, and as written: the library reads it too
    churn_bytes: int | None = None
    memory_bytes: int | None = None
    snapshot_log: str | None = None  # name of the snapshots by churn as text
    leaks: str | None = None  # where to tell what is live at exit: "1" for stderr, or a name
    fails_on_leaks: bool = False  # the exit code says whether COMMAND leaked
    sample: str | None = None  # bytes between samples, or "auto"; as the library reads it
    report_seconds: str | None = None  # checked, and as written
    report_to: str | None = None
    socket: str | None = None
    has_core: bool = False  # cores take the recording along
    log: str | None = None  # name of the text log
    log_fd: int | None = None  # or the descriptor it goes to
    has_log_stacks: bool = False
    has_trace: bool = False  # a line on stderr for each call
