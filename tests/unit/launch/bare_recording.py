"""The smallest valid recording: a header and an empty directory."""

from __future__ import annotations

import os
from pathlib import Path

from heapglass.recording import schema

DEFAULTS: dict[str, int | bytes] = {
    "magic": schema.MAGIC,
    "version": schema.FORMAT_VERSION,
    "arch": schema.ARCH_X86_64,
    "header_size": schema.Header.SIZE,
    "state": schema.STATE_RUNNING,
    "capacity": 4 * schema.STEP,
    "used": schema.STEP,
    "directory": schema.PAGE,
    "granule_shift": 5,
    "executable": b"/usr/bin/tool",
    "host": os.fsencode(os.uname().nodename),
    "start_wall_ns": 1,
    "start_mono_ns": 1,
}


def write_recording(path: Path, **fields: int | bytes) -> Path:
    """A file four steps long of which one is used."""
    header = bytearray(schema.PAGE)
    for name, value in (DEFAULTS | fields).items():
        field = schema.Header.FIELDS[name]
        raw = value if isinstance(value, bytes) else value.to_bytes(field.size, "little")
        header[field.offset : field.offset + len(raw)] = raw
    path.write_bytes(header)
    os.truncate(path, 4 * schema.STEP)
    return path
