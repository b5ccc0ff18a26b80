"""Reports of what is live, read by their description alone (docs/coming-from-dmalloc.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

SIZES = (
    *("0 - 4 bytes", "4 - 8 bytes", "8 - 16 bytes", "16 - 32 bytes", "32 - 64 bytes"),
    *("64 - 128 bytes", "128 - 256 bytes", "256 - 512 bytes", "512 - 1024 bytes"),
    *("1024 - 2048 bytes", "2048 - 4096 bytes", "4096 + bytes"),
)
AGES = ("< 1 sec", "< 10 sec", "< 100 sec", "< 1000 sec", "> 1000 sec")

_BEGIN = ">>>>>>>>>>>>> "
_HEAD = re.compile(r">>>>>>>>>>>>> (\S+ \S+) UTC pid (\d+) <<<<<<<<<<<<<")
_TITLE = re.compile(r"Current allocations by (size|age): \( # = ([\d,]+) current allocations\)")
_END = re.compile(r"^ +> 1000 sec: .*\n\n", re.MULTILINE)
_ROW = re.compile(r" *(.+ (?:bytes|sec)): +([\d,]+)(?: \+- *([\d,]+)| {12})?(?: (#+))?")
_TOTAL_SIZE = re.compile(r"(?:[\d.]+ .iB \()?([\d,]+) bytes\)? current total allocation size.*")


@dataclass(frozen=True, slots=True)
class Report:
    at: datetime
    pid: int
    allocations: int
    live_blocks: int
    live_bytes: int
    notes: tuple[str, ...]
    sizes: dict[str, int]
    ages: dict[str, int]
    size_errors: dict[str, int]  # standard errors, of those that have one
    age_errors: dict[str, int]


def parse_reports(text: str) -> list[Report]:
    """Every report in `text`, which holds nothing else; none may be torn."""
    before, *parts = re.split(f"^(?={_BEGIN})", text, flags=re.MULTILINE)
    assert before == "", before
    return [_report(part) for part in parts]


def reports_so_far(path: Path) -> list[Report]:
    """Those in a file that is being written: of the last only a part may be there yet."""
    text = path.read_text() if path.exists() else ""
    ends = [match.end() for match in _END.finditer(text)]
    return parse_reports(text[: ends[-1]]) if ends else []


def _number(text: str) -> int:
    assert f"{int(text.replace(',', '')):,}" == text
    return int(text.replace(",", ""))


def _report(text: str) -> Report:
    assert text.endswith("\n\n")
    head, sizes, ages = text.removesuffix("\n\n").split("\n\n")
    first, allocations, blocks, size, *notes = head.split("\n")
    match, total = _HEAD.fullmatch(first), _TOTAL_SIZE.fullmatch(size)
    assert match, first
    assert total, size
    assert all(note.startswith("(") and note.endswith(")") for note in notes), notes
    return Report(
        at=datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC),
        pid=int(match[2]),
        allocations=_number(allocations.removesuffix(" overall allocations since start")),
        live_blocks=_number(blocks.removesuffix(" current allocations")),
        live_bytes=_number(total[1]),
        notes=tuple(notes),
        sizes=_histogram(sizes, "size", SIZES),
        ages=_histogram(ages, "age", AGES),
        size_errors=_errors(sizes),
        age_errors=_errors(ages),
    )


def _errors(text: str) -> dict[str, int]:
    rows = [_ROW.fullmatch(line) for line in text.split("\n")[1:]]
    return {row[1]: _number(row[3]) for row in rows if row and row[3]}


def _histogram(text: str, kind: str, labels: tuple[str, ...]) -> dict[str, int]:
    title, *lines = text.split("\n")
    match = _TITLE.fullmatch(title)
    assert match, title
    assert match[1] == kind
    scale, found = _number(match[2]), {}
    for line in lines:
        row = _ROW.fullmatch(line)
        assert row, line
        count = _number(row[2])
        assert len(row[4] or "") == -(-count // scale), "each bar is as long as the scale says"
        found[row[1]] = count
    assert tuple(found) == labels
    return found
