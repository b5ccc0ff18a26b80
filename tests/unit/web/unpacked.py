"""A packed part taken apart again, written anew from its description, not from the code."""

from __future__ import annotations

import json
import zlib
from typing import Any


def unpack(part: bytes) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """Facts and columns."""
    whole = zlib.decompress(part)
    length = int.from_bytes(whole[:4], "little")
    facts = json.loads(whole[4 : 4 + length])
    at = 4 + length
    columns = {}
    for head in facts.pop("columns"):
        octets = whole[at : at + head["bytes"]]
        at += head["bytes"]
        columns[head["name"]] = _decode(octets, head)
        assert len(columns[head["name"]]) == head["count"]
    assert at == len(whole)
    return facts, columns


def _decode(octets: bytes, head: dict[str, Any]) -> list[int]:
    numbers, number, shift = [], 0, 0
    for octet in octets:
        number |= (octet & 127) << shift
        shift += 7
        if octet < 128:
            numbers.append(number)
            number, shift = 0, 0
    assert shift == 0
    if head["signed"]:
        numbers = [-(n + 1) // 2 if n % 2 else n // 2 for n in numbers]
    if head["rising"]:
        for place in range(1, len(numbers)):
            numbers[place] += numbers[place - 1]
    return numbers
