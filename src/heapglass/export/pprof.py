"""pprof's profile.proto, compressed: the four values that Go's heap profiles have, and ours.

https://github.com/google/pprof/blob/main/proto/profile.proto has the numbers of the fields.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO

from heapglass.export.extract import NO_STACK, Extract, Trail, command_text, cut_name, frame_name
from heapglass.export.metric import Metric
from heapglass.export.protobuf import content, number, packed, varint
from heapglass.model import Frame, Module
from heapglass.text import printable

Interning = Callable[[str], int]

# The order is Go's, and what it does not know comes last.
_VALUES = (
    ("alloc_objects", "count", "allocations"),
    ("alloc_space", "bytes", "bytes_allocated"),
    ("inuse_objects", "count", "live_blocks"),
    ("inuse_space", "bytes", "live_bytes"),
    ("peak_objects", "count", "peak_blocks"),
    ("peak_space", "bytes", "peak_bytes"),
    ("temporary_objects", "count", "temporary"),
)
_SHOWN_FIRST = {
    Metric.LIVE: "inuse_space",
    Metric.LEAKED: "inuse_space",
    Metric.PEAK: "peak_space",
    Metric.ALLOCATED: "alloc_space",
    Metric.ALLOCATIONS: "alloc_objects",
    Metric.TEMPORARY: "temporary_objects",
}
# Larger ones hardly compress better, and take twice the time.
_COMPRESSION = 5


def write(extract: Extract, out: BinaryIO) -> None:
    with gzip.GzipFile(
        filename="", mode="wb", compresslevel=_COMPRESSION, fileobj=out, mtime=0
    ) as f:
        for part in _Profile(extract).parts():
            f.write(part)


class _Profile:
    """Tables that grow while samples are written; readers take the parts in any order."""

    def __init__(self, extract: Extract) -> None:
        self._extract = extract
        self._values = [value for value in _VALUES if value[2] not in extract.absent]
        self._strings: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str], int] = {}
        self._locations: dict[int | str, bytes] = {}  # their ids, as written in samples
        self._parts: list[bytes] = []
        self._mappings = _Mappings(extract.heap.modules)

    def parts(self) -> Iterator[bytes]:
        yield from self._samples()
        yield from self._parts
        yield from self._mappings.parts(self._string)
        yield from self._head()
        for text in self._strings:
            yield content(6, text.encode("utf-8", "backslashreplace"))

    def _samples(self) -> Iterator[bytes]:
        table = self._extract.sites
        columns = [getattr(table, column).tolist() for _, _, column in self._values]
        for site, *values in zip(table.id.tolist(), *columns, strict=True):
            if any(values):
                locations = b"".join(self._stack(self._extract.stacks[site]))
                yield content(2, content(1, locations) + packed(2, values))

    def _stack(self, stack: Trail) -> Iterator[bytes]:
        for place in stack.frames:
            yield self._locations.get(place) or self._add_location(place)
        if stack.cut is not None:
            yield self._pseudo_location(cut_name(stack.cut))
        elif not stack.frames:
            yield self._pseudo_location(NO_STACK)

    def _add_location(self, place: int) -> bytes:
        address, frames = self._extract.places[place], self._extract.names[place]
        lines = b"".join(content(4, self._line(frame)) for frame in frames)
        mapping = self._mappings.use(address.module, frames)
        # The byte before a return address belongs to the call.
        head = number(2, mapping) + number(3, address.address - 1)
        return self._location(place, head + lines)

    def _pseudo_location(self, name: str) -> bytes:
        known = self._locations.get(name)
        line = content(4, number(1, self._function(name, "")))
        return known or self._location(name, line)

    def _location(self, key: int | str, body: bytes) -> bytes:
        identity = len(self._locations) + 1
        self._parts.append(content(4, number(1, identity) + body))
        self._locations[key] = varint(identity)
        return self._locations[key]

    def _line(self, frame: Frame) -> bytes:
        return number(1, self._function(frame_name(frame), frame.file)) + number(2, frame.line)

    def _function(self, name: str, file: str) -> int:
        key = name, file
        if key not in self._functions:
            self._functions[key] = identity = len(self._functions) + 1
            text = self._string(name)
            body = number(1, identity) + number(2, text) + number(3, text)
            self._parts.append(content(5, body + number(4, self._string(printable(file)))))
        return self._functions[key]

    def _string(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _head(self) -> Iterator[bytes]:
        extract, process = self._extract, self._extract.heap.process
        for name, unit, _ in self._values:
            yield content(1, self._value_type(name, unit))
        yield number(9, process.started_wall_ns)
        yield number(10, process.duration_ns)
        yield content(11, self._value_type("space", "bytes"))
        yield number(12, extract.heap.recorder.sample_bytes or 1)
        comments = chain(("heapglass: " + command_text(extract),), extract.caveats)
        yield packed(13, map(self._string, map(printable, comments)))
        yield number(14, self._string(_SHOWN_FIRST[extract.metric]))

    def _value_type(self, name: str, unit: str) -> bytes:
        return number(1, self._string(name)) + number(2, self._string(unit))


class _Mappings:
    """The modules that are on stacks; the program's own comes first, as readers expect it."""

    def __init__(self, modules: Sequence[Module]) -> None:
        ordered = sorted((m for m in modules if m.end), key=lambda m: (not m.is_main, m.index))
        self._modules = {module.index: module for module in ordered}
        self._ids = {module.index: number for number, module in enumerate(ordered, 1)}
        self._used: dict[int, list[Frame]] = {}

    def use(self, module: int, frames: Sequence[Frame]) -> int:
        """The id of the mapping, 0 where there is none."""
        if module in self._ids:
            self._used.setdefault(module, []).extend(frames)
        return self._ids.get(module, 0)

    def parts(self, string: Interning) -> Iterator[bytes]:
        for index, module in self._modules.items():
            if index in self._used or module.is_main:
                yield content(3, self._mapping(module, string))

    def _mapping(self, module: Module, string: Interning) -> bytes:
        frames = self._used.get(module.index, [])
        body = [
            number(1, self._ids[module.index]),
            number(2, module.start),
            number(3, module.end),
            number(5, string(printable(module.path))),
            number(6, string(module.build_id)),
            # Where one is missing, pprof may look for it in the file.
            number(7, all(frame.function for frame in frames)),
            number(8, all(frame.file for frame in frames)),
            number(9, all(frame.line for frame in frames)),
            number(10, any(frame.is_inlined for frame in frames)),
        ]
        return b"".join(body)
