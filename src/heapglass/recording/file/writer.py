"""Bytes of a recording: structs packed by the schema, extents, directory, header.

Made in memory and written whole, right or wrong: whoever fills it knows what belongs together.
"""

from __future__ import annotations

import os
from struct import pack_into
from typing import TYPE_CHECKING

from heapglass.recording import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from heapglass.recording.layout import Layout

Value = int | bytes | tuple[int, ...] | list[int]


def pack(layout: type[Layout], values: Mapping[str, Value]) -> bytearray:
    record = bytearray(layout.SIZE)
    for name, value in values.items():
        put(record, layout, name, value)
    return record


def put(record: bytearray, layout: type[Layout], name: str, value: Value, base: int = 0) -> None:
    """Overwrite one field; a number that does not fit is an error of the caller."""
    field = layout.FIELDS[name]
    start = base + field.offset
    if isinstance(value, bytes | bytearray):
        if len(value) > field.size:
            raise ValueError(f"{name} is too long")
        record[start : start + len(value)] = value
    elif isinstance(value, int):
        pack_into("<" + field.code, record, start, value)
    else:
        pack_into(f"<{len(value)}{field.code}", record, start, *value)


class Writer:
    """Extents one behind the other, as added; a directory of as many blocks as it takes."""

    def __init__(self, first_block_capacity: int | None = None) -> None:
        room = (schema.STEP - schema.PAGE - schema.Directory.SIZE) // schema.Extent.SIZE
        self.first_block_capacity = room if first_block_capacity is None else first_block_capacity
        self.header: dict[str, Value] = {
            "magic": schema.MAGIC,
            "version": schema.FORMAT_VERSION,
            "arch": schema.ARCH_X86_64,
            "header_size": schema.Header.SIZE,
            "directory": schema.PAGE,
            "granule_shift": 5,
            "host": os.fsencode(os.uname().nodename)[:63],
        }
        self.entries: list[dict[str, int]] = []
        self._body = bytearray()  # from the second step on

    @property
    def end(self) -> int:
        return schema.STEP + len(self._body)

    def add_extent(
        self,
        kind: int,
        data: bytes | bytearray,
        *,
        first: int = 0,
        owner: int = 0,
        length: int | None = None,
    ) -> int:
        """`length` bytes that begin with `data`; its offset."""
        length = max(len(data), 1) if length is None else length
        offset = self._append(bytes(data).ljust(length, b"\0"))
        self.entries.append(
            {"kind": kind, "owner": owner, "offset": offset, "length": length, "first": first}
        )
        return offset

    def add_table(
        self,
        kind: int,
        records: Iterable[bytes | bytearray],
        *,
        owner: int = 0,
        numbers: Iterable[int] | None = None,
    ) -> None:
        """Equal records from index 0 on, in extents of one step each; `numbers`: only those
        extents, in that order."""
        records = list(records)
        if not records:
            return
        per_extent = schema.STEP // len(records[0])
        needed = range(-(-len(records) // per_extent))
        for number in needed if numbers is None else numbers:
            first = number * per_extent
            data = b"".join(records[first : first + per_extent])
            self.add_extent(kind, data, first=first, owner=owner, length=schema.STEP)

    def image(self) -> bytearray:
        """The whole file."""
        blocks = self._directory_blocks()
        self.header.setdefault("used", self.end)
        self.header.setdefault("capacity", self.end)
        file = bytearray(pack(schema.Header, self.header)).ljust(schema.PAGE, b"\0")
        file += blocks[0]
        return file.ljust(schema.STEP, b"\0") + self._body

    def write(self, path: Path, *, size: int | None = None) -> Path:
        """`size`: make it that long, the rest a hole."""
        path.write_bytes(self.image())
        if size is not None:
            os.truncate(path, size)
        return path

    def _append(self, data: bytes) -> int:
        offset = self.end
        self._body += data + bytes(-len(data) % schema.STEP)
        return offset

    def _directory_blocks(self) -> list[bytearray]:
        """All blocks; those behind the first are appended to the body."""
        later_capacity = (schema.STEP - schema.Directory.SIZE) // schema.Extent.SIZE
        blocks, left = [], self.entries
        capacity = self.first_block_capacity
        while True:
            here, left = left[:capacity], left[capacity:]
            head = {"count": len(here) + bool(left), "capacity": capacity}
            block = pack(schema.Directory, head)
            for entry in here:
                block += pack(schema.Extent, entry)
            blocks.append(block)
            if not left:
                break
            capacity = later_capacity
        behind = 0
        for block in reversed(blocks[1:]):
            put(block, schema.Directory, "next", behind)
            behind = self._append(bytes(block))
        put(blocks[0], schema.Directory, "next", behind)
        return blocks
