"""From blocks of the log to entries, and to notes about each process.

Fed with whole blocks of bytes as they come; what may be half an entry waits for the next block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import numpy as np

from heapglass.textlog.digits import PAD
from heapglass.textlog.entries import I64, Call, Entries, Flags
from heapglass.textlog.fields import is_id, put_odd_entry, read_entries, read_odd_entry
from heapglass.textlog.lines import Lines
from heapglass.textlog.maps import parse_mapping
from heapglass.textlog.problems import Problems
from heapglass.textlog.process_notes import ProcessNotes

_MOST_WAITING = 1 << 22  # bytes; no entry is that long
_MOST_DIGITS = 18  # what fits 64 bits
_HEADER = re.compile(rb"#\s*(\w+)\s*(.*?)\s*")
_FLUSH = re.compile(rb"(entry|10ms|reader) (\d{1,18})")
# What malloc-stat writes around its entries.
_DECORATION = re.compile(rb"INIT\s*|\|.*|\+=+\s*|\s*")


class Parser:
    def __init__(self) -> None:
        self.problems = Problems()
        self.processes: dict[int, ProcessNotes] = {}
        self.lines = 0
        self.unclosed = 0  # entries with no closing line
        self.is_cut = False  # the log ends in the middle of a line
        self._waiting = b""
        self._pid = 0

    def feed(self, block: bytes) -> Iterator[Entries]:
        text = self._waiting + block
        cut = _whole_entries(text)
        self._waiting = text[cut:]
        if cut:
            whole = text[:cut]
            yield from self._parse(whole if whole.endswith(b"\n") else whole + b"\n")

    def finish(self) -> Iterator[Entries]:
        """What is left. A last line that does not end may be missing digits: it is not believed."""
        text, self._waiting = self._waiting, b""
        end = text.rfind(b"\n") + 1
        if end:
            yield from self._parse(text[:end])
        if end < len(text):
            self.is_cut = True
            self.problems.add(self.lines + 1, "the log ends within this line", text[end:])

    def notes(self, pid: int) -> ProcessNotes:
        if pid not in self.processes:
            self.processes[pid] = ProcessNotes(pid)
        return self.processes[pid]

    def _parse(self, block: bytes) -> Iterator[Entries]:
        lines = Lines(block)
        self._complain(lines)
        at = np.flatnonzero(lines.is_entry[lines.marks])
        # The mark behind an entry is where its stack ends.
        behind = np.append(lines.marks, len(lines))[at + 1]
        self.unclosed += int(np.sum(~np.append(lines.is_closing, False)[behind]))
        entries, is_good = self._read(lines, lines.marks[at])
        stack_end = np.append(lines.start, len(lines.text) - PAD)[behind]
        if not is_good.all():
            entries, stack_end = entries.take(is_good), stack_end[is_good]
        rows = entries.line.copy()  # each section numbers its own anew
        for first, end in self._sections(lines):
            chosen = slice(*np.searchsorted(rows, (first, end)))
            yield from self._section(lines, entries.take(chosen), stack_end[chosen])
        self.lines += len(lines)

    def _section(self, lines: Lines, entries: Entries, stack_end: I64) -> Iterator[Entries]:
        """Entries that the same header lines hold for."""
        if not len(entries):
            return
        entries.pid[entries.pid == 0] = self._pid
        self._number_stacks(lines, entries, stack_end)
        self._note_marks(entries)
        entries.line[:] += self.lines + 1
        yield entries

    # ---- entries

    def _read(self, lines: Lines, rows: I64) -> tuple[Entries, Flags]:
        """Those at these lines, and which of them were understood."""
        entries, is_good = read_entries(lines, rows)
        for at in np.flatnonzero(~is_good).tolist():
            text = lines[int(rows[at])]
            odd = read_odd_entry(text)
            if odd.problem:
                self.problems.add(self.lines + int(rows[at]) + 1, odd.problem, text)
            else:
                put_odd_entry(entries, at, odd)
                is_good[at] = True
        return entries, is_good

    def _number_stacks(self, lines: Lines, entries: Entries, stack_end: I64) -> None:
        start = lines.end[entries.line] + 1
        with_stack = np.flatnonzero(stack_end > start)
        if not len(with_stack):
            return
        for pid in np.unique(entries.pid[with_stack]).tolist():
            mine = with_stack[entries.pid[with_stack] == pid]
            spans = zip(start[mine].tolist(), stack_end[mine].tolist(), strict=True)
            texts = [lines.text[first:last] for first, last in spans]
            numbers = (entries.line[mine] + self.lines + 2).tolist()
            stacks = self.notes(pid).stacks
            entries.stack[mine] = stacks.number_all(texts, numbers, self.problems)

    def _note_marks(self, entries: Entries) -> None:
        for row in np.flatnonzero(entries.call >= Call.INIT).tolist():
            notes = self.notes(int(entries.pid[row]))
            if entries.call[row] == Call.FINI:
                notes.has_ended = True
            else:
                notes.has_started = True

    # ---- all other lines

    def _sections(self, lines: Lines) -> Iterator[tuple[int, int]]:
        """Stretches of lines between the header lines that change what follows; each is given
        out when the headers before it have been read."""
        first = 0
        for row in np.flatnonzero(lines.is_header).tolist():
            if _changes_context(lines[row]):
                yield first, row
                first = row
            self._read_header(lines, row)
        yield first, len(lines)

    def _read_header(self, lines: Lines, row: int) -> None:
        text = lines[row]
        match = _HEADER.fullmatch(text)
        key, value = (match[1], match[2]) if match else (b"", b"")
        numbers = _numbers(value)
        notes = self.notes(self._pid) if key in (b"EXE", b"CWD", b"MAPS") else None
        if key == b"PID" and len(numbers) == 1 and is_id(numbers[0]):
            self._pid = numbers[0]
            self.notes(self._pid)
        elif key == b"DROPPED" and len(numbers) == 2 and is_id(numbers[1]):
            self.notes(numbers[1]).dropped += numbers[0]
        elif key == b"FLUSH" and (flush := _FLUSH.fullmatch(value)) and is_id(int(flush[2])):
            self.notes(int(flush[2])).flush = flush[1].decode()
        elif key == b"ABORTED" and len(numbers) == 1 and is_id(numbers[0]):
            self.notes(numbers[0]).was_aborted = True
        elif key == b"TIME" and len(numbers) == 3 and is_id(numbers[2]):
            self.notes(numbers[2]).clock.mark(numbers[1], numbers[0])
        elif notes and key == b"EXE":
            notes.executable = os.fsdecode(value)
        elif notes and key == b"CWD":
            notes.working_directory = os.fsdecode(value)
        elif notes and key == b"MAPS":
            self._read_maps(lines, row + 1, notes)
        elif key != b"NOTE":  # that is for people
            self.problems.add(self.lines + row + 1, "a header line of an unknown kind", text)

    def _read_maps(self, lines: Lines, row: int, notes: ProcessNotes) -> None:
        mappings = []
        while row < len(lines) and not lines.is_mark[row]:
            mapping = parse_mapping(lines[row])
            if mapping is not None:
                mappings.append(mapping)
            row += 1
        notes.stacks.remap(mappings, notes.executable)

    def _complain(self, lines: Lines) -> None:
        """About lines outside entries that are neither header lines nor belong to them."""
        is_entry = np.append(False, lines.is_entry[lines.marks])
        is_stray = lines.is_closing[lines.marks] & ~is_entry[:-1]
        for row in lines.marks[is_stray].tolist():
            self.problems.add(self.lines + row + 1, "a closing line with nothing to close", b"-")
        is_loose = ~lines.is_mark
        if not is_loose.any():
            return
        is_loose &= ~is_entry[np.cumsum(lines.is_mark)]
        for row in np.flatnonzero(is_loose).tolist():
            text = lines[row]
            if not _DECORATION.fullmatch(text) and parse_mapping(text) is None:
                self.problems.add(self.lines + row + 1, "a line that belongs to nothing", text)


def _numbers(text: bytes) -> list[int]:
    """The words of a header line, if all are numbers that make sense."""
    words = text.split()
    if not all(word.isdigit() and len(word) <= _MOST_DIGITS for word in words):
        return []
    return [int(word) for word in words]


def _changes_context(header: bytes) -> bool:
    return header.startswith((b"# PID", b"# MAPS", b"#PID", b"#MAPS"))


def _whole_entries(text: bytes) -> int:
    """Where the last entry starts, which may go on in the next block."""
    cut = max(text.rfind(b"\n+ ") + 1, text.rfind(b"\n# MAPS") + 1)
    if not cut and len(text) > _MOST_WAITING:
        cut = text.rfind(b"\n") + 1 or len(text)
    return cut
