"""What each kind of loss means to the reader of a recording, and what can be done about it."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.model import LossKind, Severity

_MORE_ROOM = (
    "Give it more room: no or a larger --memory, more free space where the recording goes,"
    " or sample instead of recording everything."
)
_UNWIND = (
    "Build the modules named with unwind tables (-fasynchronous-unwind-tables; the default of"
    " gcc and clang on x86-64) or with -fno-omit-frame-pointer."
)
IN_NO_FILE = (
    "Nothing to do about code that is in no file: a program made it while it ran (as JIT compilers"
    " do), and stacks are known from there inwards."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """A loss is as grave as `severity` where it is material, else a mere note."""

    severity: Severity
    action: str


ADVICE: dict[LossKind, Advice] = {
    LossKind.REENTRANT: Advice(
        Severity.WARNING,
        "Do not allocate in signal handlers: malloc is not safe there, with or without heapglass.",
    ),
    LossKind.LEDGER_FULL: Advice(Severity.WARNING, _MORE_ROOM),
    LossKind.SITES_FULL: Advice(
        Severity.WARNING,
        "Fewer distinct stacks fit than there were: a smaller --depth makes fewer, a larger"
        " --memory holds more.",
    ),
    LossKind.COUNTERS_FULL: Advice(Severity.WARNING, _MORE_ROOM),
    LossKind.EARLY: Advice(
        Severity.NOTE, "Nothing to do: the C library and the loader were still starting."
    ),
    LossKind.MISSED_FREE: Advice(
        Severity.WARNING,
        "Something frees past the hooks: a second allocator linked in, or a library that calls"
        " __libc_free.",
    ),
    LossKind.UNKNOWN_FREE: Advice(
        Severity.NOTE,
        "Nothing to do if recording began late or was paused; else some allocations are made"
        " past the hooks.",
    ),
    LossKind.INHERITED_FREE: Advice(
        Severity.NOTE,
        "Nothing to do: the process was forked, and its parent's recording has these blocks.",
    ),
    LossKind.STACK_DEPTH: Advice(
        Severity.NOTE, "Record with a larger --depth if the outer callers matter."
    ),
    LossKind.STACK_NO_RULE: Advice(Severity.WARNING, _UNWIND),
    LossKind.STACK_BOUNDS: Advice(
        Severity.WARNING,
        "Stacks that the program made itself (coroutines, green threads) can look like this;"
        " please report the program if it has none.",
    ),
    LossKind.STACK_BAD_RULE: Advice(
        Severity.WARNING,
        "Please report the modules named: their unwind information is of a kind not known yet.",
    ),
    LossKind.HISTOGRAM: Advice(Severity.NOTE, _MORE_ROOM),
    LossKind.SNAPSHOT: Advice(
        Severity.NOTE, "Take snapshots less often (--snapshot, --snapshot-churn)."
    ),
    LossKind.THREAD: Advice(Severity.WARNING, _MORE_ROOM),
    LossKind.CLOCK: Advice(
        Severity.NOTE,
        "Nothing to do: their thread had computed for long without allocating or being"
        " interrupted.",
    ),
}
