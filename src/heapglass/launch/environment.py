"""The environment of the recorded program: its own, and what the library reads."""

from __future__ import annotations

import os
from collections.abc import Mapping

from heapglass.launch.options import RunOptions

Environment = dict[bytes, bytes]


def inherited_environment() -> Environment:
    """The environment we were started with.

    Not os.environ: in the C locale the interpreter adds LC_CTYPE to it (PEP 538), and the program
    must see what it would have seen without us.
    """
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    parted = (entry.partition(b"=") for entry in reversed(entries))
    # Of two entries with one name getenv() finds the first.
    found = {name: value for name, equals, value in parted if equals and name}
    return dict(reversed(found.items()))


def recording_environment(
    base: Mapping[bytes, bytes], options: RunOptions, library: str, template: str, session: str
) -> Environment:
    """`base` with the library preloaded and told what to do."""
    environment = dict(base)
    environment[b"LD_PRELOAD"] = _preload(library, base.get(b"LD_PRELOAD", b""))
    for name, value in _settings(options, template, session).items():
        environment[name.encode()] = os.fsencode(value)
    return environment


def environment_without(base: Mapping[bytes, bytes], library: str) -> Environment:
    """`base` for a program that must not find the library: an outer run may have preloaded it."""
    environment = dict(base)
    existing = environment.get(b"LD_PRELOAD", b"")
    if os.fsencode(library) in existing:
        environment[b"LD_PRELOAD"] = b":".join(_others(library, existing))
    return environment


def _preload(library: str, existing: bytes) -> bytes:
    """Ours first: the others' allocators are then the next ones we call."""
    return b":".join([os.fsencode(library), *_others(library, existing)])


def _others(library: str, existing: bytes) -> list[bytes]:
    ours = os.fsencode(library)
    return [entry for entry in existing.replace(b":", b" ").split() if entry != ours]


def _settings(options: RunOptions, template: str, session: str) -> dict[str, str]:
    # The launcher speaks for the library: its lines would come once per process.
    settings = {
        "HEAPGLASS_OUT": template,
        "HEAPGLASS_SESSION": session,
        "HEAPGLASS_QUIET": "1",
        "HEAPGLASS_FOLLOW": "1" if options.follows_children else "0",
    }
    optional = {
        "HEAPGLASS_DEPTH": options.depth,
        "HEAPGLASS_SNAPSHOT": options.snapshot_seconds,
        "HEAPGLASS_CHURN": options.churn_bytes,
        "HEAPGLASS_SNAPSHOT_LOG": options.snapshot_log,
        "HEAPGLASS_LEAKS": options.leaks,
        "HEAPGLASS_MEMORY": options.memory_bytes,
        "HEAPGLASS_SAMPLE": options.sample,
        "HEAPGLASS_REPORT": options.report_seconds,
        "HEAPGLASS_REPORT_TO": options.report_to,
        "HEAPGLASS_SOCKET": options.socket,
        "HEAPGLASS_CORE": 1 if options.has_core else None,
        "HEAPGLASS_LOG": options.log,
        "HEAPGLASS_LOG_FD": options.log_fd,
        "HEAPGLASS_LOG_STACKS": 1 if options.has_log_stacks else None,
        "HEAPGLASS_TRACE": 1 if options.has_trace else None,
    }
    return settings | {name: str(value) for name, value in optional.items() if value is not None}
