"""Columns of whole numbers as bytes: small once compressed, and quick to take apart in a page.

Each column is a run of varints, seven bits to a byte, least significant first. Signed ones are
zigzag-coded; rising ones are stored as differences.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heapglass.model.tables import I64

_WORD_MAX = 2**31 - 1


class Columns:
    """Named columns and some JSON beside them, on their way into one compressed part."""

    def __init__(self) -> None:
        self._heads: list[dict[str, Any]] = []
        self._bytes: list[bytes] = []

    def add(self, name: str, values: I64, *, is_rising: bool = False) -> None:
        """`is_rising`: neighbours are close to each other, so that differences are small."""
        values = np.asarray(values, dtype=np.int64)
        stored = np.diff(values, prepend=0) if is_rising else values
        is_signed = bool(len(stored)) and int(stored.min()) < 0
        data = encode_varints(_zigzag(stored) if is_signed else stored.astype(np.uint64))
        widest = int(np.abs(values).max(initial=0))
        head = {
            "name": name,
            "count": len(values),
            "bytes": len(data),
            "signed": is_signed,
            "rising": is_rising,
            "type": "i32" if widest <= _WORD_MAX else "f64",
        }
        self._heads.append(head)
        self._bytes.append(data)

    def pack(self, facts: dict[str, Any]) -> bytes:
        """The length of the JSON in four bytes, the JSON, the columns; all of it deflated."""
        text = json.dumps({**facts, "columns": self._heads}, separators=(",", ":")).encode()
        whole = b"".join([len(text).to_bytes(4, "little"), text, *self._bytes])
        return zlib.compress(whole, 8)


def encode_varints(values: NDArray[np.uint64]) -> bytes:
    lengths = np.ones(len(values), dtype=np.int64)
    for shift in range(7, 64, 7):
        lengths += values >= np.uint64(1 << shift)
    ends = np.cumsum(lengths)
    octets = np.zeros(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    for place in range(int(lengths.max(initial=0))):
        has_place = lengths > place
        group = (values[has_place] >> np.uint64(7 * place)).astype(np.uint8) & np.uint8(127)
        more = np.where(lengths[has_place] > place + 1, np.uint8(128), np.uint8(0))
        octets[ends[has_place] - lengths[has_place] + place] = group | more
    return octets.tobytes()


def _zigzag(values: I64) -> NDArray[np.uint64]:
    coded: NDArray[np.uint64] = ((values << 1) ^ (values >> 63)).view(np.uint64)
    return coded
