"""Reading what witness.c logged, as events of the model whose sites are whole stacks."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness.comparison import KeyOf
from harness.model import Event, Kind
from harness.programs import TESTS, compiled
from heapglass.model import HeapSource

_BUILD = "-shared -fPIC -static-libgcc -fvisibility=hidden"
_RECORD_WORDS = 7


def witness_library() -> str:
    return compiled(TESTS / "harness" / "witness.c", *_BUILD.split())


def logs_in(directory: Path) -> list[Path]:
    return sorted(directory.glob("witness.*"))


def events_in(log: Path, depth: int) -> Iterator[Event]:
    """The log's events, stacks cut to `depth` frames."""
    with log.open("rb") as file:
        used = int.from_bytes(file.read(8), "little")
        words = np.frombuffer(file.read(8 * used), dtype="<u8").tolist()
    at = 0
    while at < used:
        head, old, new, size, usable, before, after = words[at : at + _RECORD_WORDS]
        frames = at + _RECORD_WORDS
        at = frames + (head >> 8 & 0xFFFFFF)
        stack = tuple(words[frames : min(at, frames + depth)])
        yield Event(Kind(head & 0xFF), head >> 32, old, new, size, usable, stack, before, after)


def stack_keys(source: HeapSource) -> KeyOf:
    """A site's frames but the innermost, which is the witness itself."""

    @functools.cache
    def key_of(site: int) -> tuple[int, ...]:
        return tuple(frame.address for frame in source.stack(site).frames[1:])

    return key_of
