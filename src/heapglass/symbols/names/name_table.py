"""Names by address as a few arrays: how they are kept in the cache and in packed recordings.

All numbers are little-endian. A head of five u32 (addresses, frames, places, strings, sentences),
then
  i32 module[addresses]    index of the module, -1 for code in none; all 0 in the cache
  u64 offset[addresses]    of the return address in the module's file, or the bare address
  u32 end[addresses]       frames up to and with those of this address
  u32 place[frames]        number of a place; innermost function first
  u32 function[places]     number of a string
  u32 file[places]         likewise
  u32 line[places]         0: not known
and, NUL-terminated, the strings, then the sentences that say what kept names from being found.
An address with no frames was looked for and is not known.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from struct import Struct

from heapglass.symbols.names.location import Location
from heapglass.symbols.raw import SymbolError

Key = tuple[int, int]  # index of the module, offset in it
Locations = tuple[Location, ...]

_HEAD = Struct("<5I")
_COLUMNS = ("i", "Q", "I")  # per address
_PLACE_COLUMNS = ("I", "I", "I")


class NameTable:
    """Names as they were kept; what an address has is put together when it is asked for."""

    def __init__(self, data: bytes) -> None:
        """SymbolError when this is no such table."""
        if len(data) < _HEAD.size:
            raise SymbolError("the table of names is cut short")
        addresses, frames, places, strings, sentences = _HEAD.unpack_from(data)
        reader = _Columns(data)
        modules, offsets, self._end = (reader.take(code, addresses) for code in _COLUMNS)
        self._place = reader.take("I", frames)
        columns = [reader.take(code, places) for code in _PLACE_COLUMNS]
        texts = reader.rest().split("\0")
        if len(texts) != strings + sentences + 1:
            raise SymbolError("the table of names is cut short")
        self.warnings = tuple(texts[strings:-1])
        self._check()
        self._places = _read_places(columns, texts[:strings])
        if max(self._place, default=-1) >= places:
            raise SymbolError("the table of names makes no sense")
        self._rows = {key: row for row, key in enumerate(zip(modules, offsets, strict=True))}

    def _check(self) -> None:
        ends = self._end
        is_rising = all(a <= b for a, b in pairwise(ends))
        if not is_rising or (ends[-1] if ends else 0) != len(self._place):
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
        places = self._places
        return tuple([places[number] for number in self._place[first : self._end[row]]])


def _read_places(columns: list[array[int]], strings: list[str]) -> list[Location]:
    try:
        return [
            Location(strings[function], strings[file], line)
            for function, file, line in zip(*columns, strict=True)
        ]
    except IndexError:
        raise SymbolError("the table of names makes no sense") from None


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
    module, offset, end = (array(code) for code in _COLUMNS)
    place = array("I")
    places: dict[Location, int] = {}
    for key in sorted(names):
        module.append(key[0])
        offset.append(key[1])
        place.extend([places.setdefault(location, len(places)) for location in names[key]])
        end.append(len(place))
    numbers: dict[str, int] = {}
    function = array("I", (_number(numbers, each.name) for each in places))
    file = array("I", (_number(numbers, each.file) for each in places))
    line = array("I", (min(each.line, (1 << 32) - 1) for each in places))
    columns = (module, offset, end, place, function, file, line)
    sentences = [_one_text(sentence) for sentence in warnings]
    head = _HEAD.pack(len(module), len(place), len(places), len(numbers), len(sentences))
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
