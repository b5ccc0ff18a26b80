"""This machine: whether programs can be recorded on it, and what its kernel and limits mean."""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from heapglass.errors import HeapglassError
from heapglass.launch.library import library_path
from heapglass.launch.naming import default_template
from heapglass.model import Finding, Severity
from heapglass.recording.file.mounts import file_system_of
from heapglass.text import printable
from heapglass.trial.driver import driver_path
from heapglass.trial.modes import EXACT
from heapglass.trial.probe import ALLOCATIONS, record_driver
from heapglass.units import format_count, format_size

_MADV_WIPEONFORK = 18
_MADV_POPULATE_WRITE = 23
_LITTLE_SPACE = 256 << 20
_STRICT_OVERCOMMIT = "2"


def examine_machine(scratch: Path) -> tuple[Finding, ...]:
    """In the order in which one thing needs the other."""
    checks: tuple[Callable[[Path], Iterator[Finding]], ...] = (
        _processor,
        _library,
        _recording,
        _kernel,
        _loader,
        _place,
        _limits,
    )
    return tuple(finding for check in checks for finding in check(scratch))


def _processor(_scratch: Path) -> Iterator[Finding]:
    system = os.uname()
    text = f"{system.sysname} {system.release} on {system.machine}."
    if (system.sysname, system.machine) == ("Linux", "x86_64"):
        yield Finding(Severity.OK, "system", text)
    else:
        yield Finding(Severity.WARNING, "system", text, "heapglass records on x86-64 Linux only.")


def _library(_scratch: Path) -> Iterator[Finding]:
    try:
        path = library_path()
    except HeapglassError as error:
        yield Finding(Severity.WARNING, "library", f"{error}.")
    else:
        yield Finding(Severity.OK, "library", f"{printable(path)} is there.")


def _recording(scratch: Path) -> Iterator[Finding]:
    wanted = format_count(ALLOCATIONS)
    try:
        found = record_driver(EXACT, scratch)
    except HeapglassError as error:
        yield Finding(Severity.WARNING, "recording", f"{error}.")
        return
    if found is None:
        text = "A program that was run with LD_PRELOAD left no recording."
        yield Finding(Severity.WARNING, "recording", f"{text} {_complaint(scratch)}".strip())
        return
    seen = format_count(min(found.sums.allocations, ALLOCATIONS))
    text = f"LD_PRELOAD works: {seen} of a program's {wanted} allocations were recorded."
    is_whole = found.sums.allocations >= ALLOCATIONS and not found.losses
    yield Finding(Severity.OK if is_whole else Severity.WARNING, "recording", text)


def _complaint(scratch: Path) -> str:
    """What the loader or the library says when a program is run with it."""
    environment = EXACT.environment(scratch) | {b"HEAPGLASS_QUIET": b"0"}
    argv = [driver_path(), "work", "1", "1", "malloc:1:8"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    return printable(done.stderr.strip().partition("\n")[0])


def _kernel(_scratch: Path) -> Iterator[Finding]:
    yield _feature(
        _advice_works(_MADV_POPULATE_WRITE),
        "MADV_POPULATE_WRITE: space is reserved as it is needed",
        "MADV_POPULATE_WRITE (Linux 5.14): space is reserved up front instead",
    )
    yield _feature(
        _advice_works(_MADV_WIPEONFORK),
        "MADV_WIPEONFORK: a forked child starts a recording of its own",
        "MADV_WIPEONFORK (Linux 4.14): children forked past the C library are not noticed",
    )


def _loader(_scratch: Path) -> Iterator[Finding]:
    program = ctypes.CDLL(None)
    yield _feature(
        _has_rseq(program),
        "rseq: the clock is read only when a thread has left its processor",
        "rseq (glibc 2.35, Linux 4.18): the clock is read for every event, some ns each",
        "c library",
    )
    yield _feature(
        hasattr(program, "_dl_find_object"),
        "_dl_find_object: modules are found without a lock",
        "_dl_find_object (glibc 2.35): modules are found in a copy of the loader's list",
        "c library",
    )


def _feature(is_there: bool, good: str, bad: str, subject: str = "kernel") -> Finding:  # noqa: FBT001
    if is_there:
        return Finding(Severity.OK, subject, f"Has {good}.")
    return Finding(Severity.NOTE, subject, f"Has no {bad}.")


def _advice_works(advice: int) -> bool:
    with mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as page:
        try:
            page.madvise(advice)
        except OSError:
            return False
    return True


def _has_rseq(program: ctypes.CDLL) -> bool:
    try:
        return ctypes.c_uint.in_dll(program, "__rseq_size").value > 0
    except ValueError:
        return False


def _place(_scratch: Path) -> Iterator[Finding]:
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 (as `heapglass run` does)
    try:
        template, why_elsewhere = default_template(temporary)
    except HeapglassError as error:
        yield Finding(Severity.WARNING, "place", f"{error}.")
        return
    directory = os.path.dirname(template).replace("%%", "%")
    status = os.statvfs(directory)
    free = status.f_bavail * status.f_frsize
    kind = file_system_of(os.stat(directory).st_dev) or "a file system not known"
    why = f" ({why_elsewhere})" if why_elsewhere else ""
    text = f"Recordings go to {directory}{why}: {kind}, {format_size(free)} free."
    if free < _LITTLE_SPACE:
        yield Finding(Severity.WARNING, "place", text, "Name a larger place with -o.")
    elif kind in ("tmpfs", "ramfs"):
        yield Finding(Severity.NOTE, "place", f"{text} That is memory.", "Name a disk with -o.")
    else:
        yield Finding(Severity.OK, "place", text)


def _limits(_scratch: Path) -> Iterator[Finding]:
    tight = [
        f"{word} {format_size(soft)}"
        for word, limit in (("ulimit -v", resource.RLIMIT_AS), ("ulimit -f", resource.RLIMIT_FSIZE))
        if (soft := resource.getrlimit(limit)[0]) != resource.RLIM_INFINITY
    ]
    if _overcommit() == _STRICT_OVERCOMMIT:
        tight.append("vm.overcommit_memory 2")
    if tight:
        text = f"There are limits: {', '.join(tight)}. Recordings stay within, and may end early."
        yield Finding(Severity.NOTE, "limits", text, "Raise them where a recording says so.")
    else:
        yield Finding(Severity.OK, "limits", "Neither memory nor the size of files is limited.")


def _overcommit() -> str:
    try:
        return Path("/proc/sys/vm/overcommit_memory").read_text(encoding="ascii").strip()
    except OSError:
        return ""
