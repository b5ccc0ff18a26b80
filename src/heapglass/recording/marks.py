"""Moments that the program gave a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heapglass.model import Mark
from heapglass.recording import schema
from heapglass.recording.process import text

if TYPE_CHECKING:
    from heapglass.recording.file.image import Image


def read_mark_records(image: Image) -> bytearray:
    """What name_marks() needs, through an image made after this."""
    count = min(image.header.marks, schema.MARKS)
    return image.table(schema.KIND_MARKS, schema.Mark.SIZE, count)


def name_marks(image: Image, records: bytearray) -> tuple[Mark, ...]:
    """Those that were kept, in order of time."""
    visible = [record for record in schema.Mark.each(records) if record.name]
    if not visible:
        return ()
    strings = image.table(schema.KIND_STRINGS, 1)
    marks = [_mark(image, record, strings) for record in visible]
    return tuple(sorted(marks, key=lambda mark: mark.time_ns))


def _mark(image: Image, record: schema.Mark, strings: bytearray) -> Mark:
    end = strings.find(0, record.name)
    if end < 0:
        raise image.file.damaged("a mark in it has a name outside of the names")
    return Mark(record.time, text(bytes(strings[record.name : end])))
