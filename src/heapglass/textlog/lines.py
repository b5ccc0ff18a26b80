"""A block of whole lines, cut into lines and tokens without looking at any of them one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heapglass.textlog.digits import PAD, words_of
from heapglass.textlog.entries import I64, U64, Flags

_BLANK, _NEWLINE = 32, 10
_PLUS, _MINUS, _HASH = b"+-#"
_PADDING = b"\n" * PAD


class Lines:
    """Positions are in the padded text. Token k ends at separators[k] and starts behind the
    separator before it."""

    __slots__ = (
        "_last_token",
        "end",
        "is_closing",
        "is_entry",
        "is_header",
        "is_mark",
        "marks",
        "separators",
        "start",
        "text",
        "words",
    )

    def __init__(self, block: bytes) -> None:
        """`block` ends with a newline."""
        self.text = b"".join((_PADDING, block, _PADDING))
        self.words: U64 = words_of(self.text)
        octets: NDArray[np.uint8] = np.frombuffer(self.text, np.uint8)
        body = octets[PAD : PAD + len(block)]
        self.separators: I64 = np.flatnonzero((body == _BLANK) | (body == _NEWLINE)) + PAD
        self._last_token: I64 = np.flatnonzero(octets[self.separators] == _NEWLINE)
        self.end: I64 = self.separators[self._last_token]
        self.start: I64 = np.append(PAD, self.end[:-1] + 1)
        self._classify(octets)

    def _classify(self, octets: NDArray[np.uint8]) -> None:
        """A mark is a line that ends the stack above it: entries, closing lines, header lines, and
        what malloc-stat draws with plus signs."""
        first, second = octets[self.start], octets[self.start + 1]
        is_plus = first == _PLUS
        self.is_entry: Flags = is_plus & (second == _BLANK)
        self.is_closing: Flags = first == _MINUS
        self.is_header: Flags = first == _HASH
        self.is_mark: Flags = is_plus | self.is_closing | self.is_header
        self.marks: I64 = np.flatnonzero(self.is_mark)

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, line: int) -> bytes:
        return self.text[self.start[line] : self.end[line]]

    def first_token(self, lines: I64) -> I64:
        return np.where(lines > 0, self._last_token[lines - 1] + 1, 0)

    def count_tokens(self, lines: I64) -> I64:
        return self._last_token[lines] - self.first_token(lines) + 1
