"""Structs that older versions of the format had smaller; which one a recording has."""

from __future__ import annotations

from heapglass.recording import schema
from heapglass.recording.layout import Layout, Nested, Number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

_GREW_IN = 6


class PointBefore6(Layout):
    time = Number("Q")
    live_bytes = Number("Q")
    live_blocks = Number("Q")
    allocations = Number("Q")
    bytes_allocated = Number("Q")
    peak_bytes = Number("Q")
    usable_bytes = Number("Q")
    reserved = Number("Q")


class SnapshotBefore6(Layout):
    time = Number("Q")
    length = Number("I")
    sites = Number("I")
    totals = Nested(PointBefore6)


Point = type[schema.Point] | type[PointBefore6]
Snapshot = type[schema.Snapshot] | type[SnapshotBefore6]
Head: TypeAlias = schema.Snapshot | SnapshotBefore6
Entry: TypeAlias = tuple[Head, bytes]


def point_of(header: schema.Header) -> Point:
    return schema.Point if header.version >= _GREW_IN else PointBefore6


def snapshot_of(header: schema.Header) -> Snapshot:
    return schema.Snapshot if header.version >= _GREW_IN else SnapshotBefore6
