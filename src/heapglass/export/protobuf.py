"""Messages in the wire format of protocol buffers, as far as a profile needs it."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = (1 << 64) - 1


def varint(value: int) -> bytes:
    """A number of any sign, as int64 and uint64 are written."""
    value &= _MASK
    if value < 128:
        return bytes((value,))
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    """Nothing where it is 0, as readers take it then."""
    return varint(field << 3) + varint(value) if value else b""


def content(field: int, data: bytes) -> bytes:
    """A text, a message, or packed numbers."""
    return varint(field << 3 | 2) + varint(len(data)) + data


def packed(field: int, values: Iterable[int]) -> bytes:
    return content(field, b"".join(map(varint, values)))
