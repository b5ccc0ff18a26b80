"""Memory as people read it: sixteen bytes a line, in hexadecimal and as text."""

from __future__ import annotations

from collections.abc import Iterator

BYTES_PER_LINE = 16


def hexdump(data: bytes, address: int) -> Iterator[str]:
    """One line for each sixteen bytes from `address` on."""
    for start in range(0, len(data), BYTES_PER_LINE):
        part = data[start : start + BYTES_PER_LINE]
        halves = (part[:8].hex(" "), part[8:].hex(" "))
        digits = f"{halves[0]:<23}  {halves[1]:<23}"
        yield f"{address + start:x}  {digits}  |{_text(part)}|"


def _text(part: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
