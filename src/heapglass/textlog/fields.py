"""The fields of entry lines: all of one shape at once, and odd ones singly.

Shapes, by their number of words: `+ NAME SIZE ADDRESS` as malloc-stat's text has it; with PID and
TID, as malloc-stat writes it; with the sequence NUMBER, as heapglass does; with OLD and OLDNUMBER
where a block moved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from heapglass.textlog.digits import last_eight, read_decimals, read_hexadecimals
from heapglass.textlog.entries import I64, NAMES, NO_STACK, U64, UNNUMBERED, Call, Entries, Flags
from heapglass.textlog.lines import Lines

_BARE, _WITH_THREAD, _NUMBERED, _MOVED = SHAPES = (4, 6, 7, 9)
_HEX_MARK = np.uint64(int.from_bytes(b"0x", "little"))
_TWO_CHARACTERS = np.uint64(0xFFFF)
_UNKNOWN = -1
_IDS = 1 << 31  # no process or thread has this id
_SIZES = 1 << 48  # no block has this size
_ASKED_SIZES = 1 << 64  # but calls that fail may have asked for any


def is_id(value: int) -> bool:
    """Whether a process or thread may have it."""
    return 0 <= value < _IDS


def read_entries(lines: Lines, rows: I64) -> tuple[Entries, Flags]:
    """The entries at these lines, and which of them were understood; `line` is the row, a PID that
    is not there is 0."""
    shapes = lines.count_tokens(rows)
    common = shapes[0] if len(rows) else _BARE
    if common in SHAPES and bool(np.all(shapes == common)):
        return _read_shape(lines, rows, int(common))
    entries, is_good = _blank(rows), np.zeros(len(rows), bool)
    for shape in SHAPES:
        mine = np.flatnonzero(shapes == shape)
        if len(mine):
            part, is_good[mine] = _read_shape(lines, rows[mine], shape)
            _put(entries, mine, part)
    return entries, is_good


def _read_shape(lines: Lines, rows: I64, shape: int) -> tuple[Entries, Flags]:
    entries = _blank(rows)
    words = _Words(lines, rows)
    words.read_names(entries.call)
    words.read_decimals(entries.size)
    words.read_addresses(entries.address)
    if shape >= _WITH_THREAD:
        words.read_decimals(entries.pid)
        words.read_decimals(entries.tid)
    if shape >= _NUMBERED:
        words.read_decimals(entries.number)
    if shape >= _MOVED:
        words.read_addresses(entries.old)
        words.read_decimals(entries.old_number)
    is_sane = (entries.size < _SIZES) & (entries.pid < _IDS) & (entries.tid < _IDS)
    return entries, words.are_good & is_sane


class _Words:
    """The words of many lines of one shape, read from the second on, one column after the other."""

    def __init__(self, lines: Lines, rows: I64) -> None:
        self.are_good = np.ones(len(rows), bool)
        self._separators = lines.separators
        self._text = lines.words
        self._at = lines.first_token(rows)
        self._end = self._separators[self._at]

    def read_names(self, into: I64) -> None:
        end, length = self._next()
        into[:] = _find_names(self._text, end, length)
        self.are_good &= into != _UNKNOWN

    def read_decimals(self, into: I64) -> None:
        into[:], are_numbers = read_decimals(self._text, *self._next())
        self.are_good &= are_numbers

    def read_addresses(self, into: U64) -> None:
        end, length = self._next()
        into[:], are_numbers = read_hexadecimals(self._text, end, length - 2)
        self.are_good &= are_numbers & (self._text[end - length] & _TWO_CHARACTERS == _HEX_MARK)

    def _next(self) -> tuple[I64, I64]:
        """Where the next word ends in each line, and how long it is."""
        self._at = self._at + 1
        before, self._end = self._end, self._separators[self._at]
        return self._end, self._end - before - 1


def _find_names(text: U64, end: I64, length: I64) -> I64:
    found = np.full(len(end), _UNKNOWN, np.int64)
    tail = last_eight(text, end, length)
    left = np.arange(len(end))
    for name, call in NAMES.items():
        its_tail = np.uint64(int.from_bytes(name[-8:].rjust(8, b"\0"), "little"))
        is_hit = (tail == its_tail) & (length == len(name))
        hits = left[is_hit]
        if len(name) > 8:
            its_head = np.uint64(int.from_bytes(name[:8], "little"))
            hits = hits[text[end[hits] - len(name)] == its_head]
        found[hits] = call
        is_left = ~is_hit
        left, tail, length = left[is_left], tail[is_left], length[is_left]
        if not len(left):
            break
    return found


def _blank(rows: I64) -> Entries:
    def column(value: int) -> I64:
        return np.full(len(rows), value, np.int64)

    return Entries(
        line=rows,
        call=column(Call.MALLOC),
        size=column(0),
        address=np.zeros(len(rows), np.uint64),
        pid=column(0),
        tid=column(0),
        number=column(UNNUMBERED),
        old=np.zeros(len(rows), np.uint64),
        old_number=column(UNNUMBERED),
        stack=column(NO_STACK),
    )


_COLUMNS = ("call", "size", "address", "pid", "tid", "number", "old", "old_number")


def _put(entries: Entries, at: I64, part: Entries) -> None:
    for name in _COLUMNS:
        getattr(entries, name)[at] = getattr(part, name)


_ODD = re.compile(
    rb"\+\s+(?P<name>[\w-]+)(?:\s+(?P<size>\d{1,20})\s+(?P<address>0[xX][\da-fA-F]{1,16}|\(nil\))"
    rb"(?:\s+(?P<pid>\d{1,10})\s+(?P<tid>\d{1,10})(?:\s+(?P<number>\d{1,18})"
    rb"(?:\s+(?P<old>0[xX][\da-fA-F]{1,16}|\(nil\))\s+(?P<old_number>\d{1,18}))?)?)?)?\s*"
)


@dataclass(frozen=True, slots=True)
class OddEntry:
    """An entry read by itself; `problem` says why it could not be, "" when it could."""

    values: dict[str, int]
    problem: str = ""


def read_odd_entry(text: bytes) -> OddEntry:
    """Unusual blanks, a null pointer as C libraries print it, marks without numbers, calls that
    failed as they asked for more than there can be."""
    match = _ODD.fullmatch(text)
    if match is None:
        return OddEntry({}, "an entry that makes no sense")
    call = NAMES.get(match["name"])
    if call is None:
        return OddEntry({}, "an entry of an unknown type")
    if match["size"] is None and call not in (Call.INIT, Call.FINI):
        return OddEntry({}, "an entry without size and address")
    values = {"call": int(call)}
    for name, field in match.groupdict().items():
        if field is not None and name != "name":
            values[name] = 0 if field == b"(nil)" else int(field, 0 if name in _HEX else 10)
    if values.get("size", 0) >= (_SIZES if values.get("address") else _ASKED_SIZES):
        return OddEntry({}, "an entry of an impossible size")
    if max(values.get("pid", 0), values.get("tid", 0)) >= _IDS:
        return OddEntry({}, "an entry of an impossible process or thread")
    if not values.get("address"):
        values["size"] = 0  # nothing was handed out
    return OddEntry(values)


_HEX = ("address", "old")


def put_odd_entry(entries: Entries, row: int, odd: OddEntry) -> None:
    for name, value in odd.values.items():
        getattr(entries, name)[row] = value
