"""Rust names of the older kind: C++ in form, a hash at the end, punctuation spelled out."""

from __future__ import annotations

import re

SYMBOL = re.compile(r"_ZN(.*)17h[0-9a-f]{16}E", re.DOTALL)
ESCAPE = re.compile(r"\$(SP|BP|RF|LT|GT|LP|RP|C|u[0-9a-f]{1,6})\$")
PUNCTUATION = {
    "SP": "@",
    "BP": "*",
    "RF": "&",
    "LT": "<",
    "GT": ">",
    "LP": "(",
    "RP": ")",
    "C": ",",
}


def demangle_legacy(symbol: str) -> str | None:
    """The path without its hash, or None when this is no such name."""
    match = SYMBOL.fullmatch(symbol)
    if not match:
        return None
    parts = _split(match[1])
    return "::".join(_unescape(part) for part in parts) if parts else None


def _split(encoded: str) -> list[str] | None:
    parts = []
    at = 0
    while at < len(encoded):
        end = at
        while end < len(encoded) and encoded[end] in "0123456789":
            end += 1
        if not 0 < end - at < 6:
            return None
        length = int(encoded[at:end])
        at = end + length
        if at > len(encoded):
            return None
        parts.append(encoded[end:at])
    return parts


def _unescape(part: str) -> str:
    # Names may not start with a "$", so a "_" was put in front of it.
    text = part[1:] if part.startswith("_$") else part
    return ESCAPE.sub(_punctuation, text.replace("..", "::"))


def _punctuation(match: re.Match[str]) -> str:
    word = match[1]
    if word in PUNCTUATION:
        return PUNCTUATION[word]
    code = int(word[1:], 16)
    is_printable = code < 0x110000 and chr(code).isprintable()
    return chr(code) if is_printable else match[0]
