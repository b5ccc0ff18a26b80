"""Names by address as a few arrays: how they are kept in the cache and in packed recordings.

All numbers are little-endian. A head of four u32 (addresses, frames, strings, sentences), then
  i32 module[addresses]    index of the module, -1 for code in none; all 0 in the cache
  u64 offset[addresses]    of the return address in the module's file, or the bare address
  u32 end[addresses]       frames up to and with those of this address
  u32 function[frames]     number of a string; innermost function first
  u32 file[frames]         likewise
  u32 line[frames]         0: not known
and, NUL-terminated, the strings, then the sentences that say what kept names from being found.
An address with no frames was looked for and is not known.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from struct import Struct

from heapglass.symbols.location import Location
from heapglass.symbols.raw import SymbolError

Key = tuple[int, int]  # index of the module, offset in it
Locations = tuple[Location, ...]

_HEAD = Struct("<4I")
_COLUMNS = ("i", "Q", "I")  # per address
_FRAME_COLUMNS = ("I", "I", "I")


class NameTable:
    """Names as they were kept; what an address has is put together when it is asked for."""

    def __init__(self, data: bytes) -> None:
        """SymbolError when this is no such table."""
        if len(data) < _HEAD.size:
            raise SymbolError("the table of names is cut short")
        addresses, frames, strings, sentences = _HEAD.unpack_from(data)
        reader = _Columns(data)
        modules, offsets, self._end = (reader.take(code, addresses) for code in _COLUMNS)
        self._function, self._file, self._line = (
            reader.take(code, frames) for code in _FRAME_COLUMNS
        )
        texts = reader.rest().split("\0")
        if len(texts) != strings + sentences + 1:
            raise SymbolError("the table of names is cut short")
        self._strings, self.warnings = texts[:strings], tuple(texts[strings:-1])
        self._check(frames, strings)
        self._rows = {key: row for row, key in enumerate(zip(modules, offsets, strict=True))}

    def _check(self, frames: int, strings: int) -> None:
        ends = self._end
        is_rising = all(a <= b for a, b in pairwise(ends))
        numbers = max(max(self._function, default=0), max(self._file, default=0))
        if not is_rising or (ends[-1] if ends else 0) != frames or (frames and numbers >= strings):
            raise SymbolError("the table of names makes no sense")

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def get(self, key: Key) -> Locations | None:
        """None: never looked for. Empty: looked for, and not known."""
        row = self._rows.get(key)
        if row is None:
            return None
        first = self._end[row - 1] if row else 0
        strings = self._strings
        return tuple(
            Location(strings[self._function[at]], strings[self._file[at]], self._line[at])
            for at in range(first, self._end[row])
        )


class _Columns:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = _HEAD.size

    def take(self, code: str, count: int) -> array[int]:
        column = array(code)
        end = self._at + count * column.itemsize
        if end > len(self._data):
            raise SymbolError("the table of names is cut short")
        column.frombytes(self._data[self._at : end])
        self._at = end
        return _swapped(column)

    def rest(self) -> str:
        return self._data[self._at :].decode("utf-8", "surrogateescape")


def encode_names(names: Mapping[Key, Locations], warnings: Iterable[str] = ()) -> bytes:
    columns = [array(code) for code in (*_COLUMNS, *_FRAME_COLUMNS)]
    module, offset, end, function, file, line = columns
    numbers: dict[str, int] = {"": 0}
    for key in sorted(names):
        module.append(key[0])
        offset.append(key[1])
        for location in names[key]:
            function.append(_number(numbers, location.name))
            file.append(_number(numbers, location.file))
            line.append(min(location.line, (1 << 32) - 1))
        end.append(len(function))
    sentences = [_one_text(sentence) for sentence in warnings]
    head = _HEAD.pack(len(module), len(function), len(numbers), len(sentences))
    texts = "".join(f"{text}\0" for text in (*numbers, *sentences))
    body = b"".join(_swapped(column).tobytes() for column in columns)
    return head + body + texts.encode("utf-8", "surrogateescape")


def _number(numbers: dict[str, int], text: str) -> int:
    return numbers.setdefault(_one_text(text), len(numbers))


def _one_text(text: str) -> str:
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text


def _swapped(column: array[int]) -> array[int]:
    if sys.byteorder == "big":
        column.byteswap()
    return column
