"""Protocol buffers read without a library: field number → values, in order."""

from __future__ import annotations

from collections.abc import Iterator

Message = dict[int, list[int | bytes]]


def parse(data: bytes) -> Message:
    fields: Message = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            fields.setdefault(key >> 3, []).append(value)
        elif key & 7 == 2:
            length, at = _varint(data, at)
            assert at + length <= len(data), "a field is longer than its message"
            fields.setdefault(key >> 3, []).append(data[at : at + length])
            at += length
        else:
            raise AssertionError(f"wire type {key & 7}")
    return fields


def numbers(data: bytes) -> list[int]:
    """Packed ones, signed."""
    return list(_numbers(data))


def _numbers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value - (1 << 64) if value >> 63 else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
