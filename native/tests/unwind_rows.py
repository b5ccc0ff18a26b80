#!/usr/bin/env python3
"""Compare every row of a library's call-frame table with what readelf makes of it.

Usage: unwind_rows.py UNWIND_ROWS LIBRARY...  Each row is asked for at its first and at its last
address. Exits with 1 when one differs.
"""

from __future__ import annotations

import re
import subprocess
import sys

FDE = re.compile(r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)")
COLUMNS = re.compile(r"^   LOC +CFA +(.*)$")
REGISTER = re.compile(r"r\d+ \((\w+)\)")
ROW = re.compile(r"^([0-9a-f]{16}) (\S+) +(.*)$")

Row = tuple[str, str, str]


def expected_rows(library: str) -> dict[int, Row]:
    """Map addresses to (CFA, rbp, return address): each row's first and last address."""
    command = ["readelf", "--wide", "--debug-dump=frames-interp", library]
    # Its exit status also tells of missing debug files, which do not matter here.
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows: dict[int, Row] = {}
    names: list[str] = []
    end = 0
    open_row: tuple[int, Row] | None = None

    def close(until: int) -> None:
        if open_row and open_row[0] < until:
            rows[open_row[0]] = rows[until - 1] = open_row[1]

    for line in text.splitlines():
        if match := FDE.match(line):
            close(end)
            open_row, end = None, int(match[2], 16)
        elif " CIE " in line:
            close(end)
            open_row, end = None, 0
        elif match := COLUMNS.match(line):
            names = match[1].split()
        elif end and (match := ROW.match(line)):
            start = int(match[1], 16)
            close(start)
            values = dict(zip(names, REGISTER.sub(r"\1", match[3]).split(), strict=True))
            open_row = start, (match[2], values.get("rbp", "u"), values["ra"])
    close(end)
    return rows


def parsed_rows(program: str, library: str, offsets: list[int]) -> dict[int, Row]:
    """Ask our parser for the rows at these addresses."""
    asked = "".join(f"{offset:x}\n" for offset in offsets)
    command = [program, library]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
    rows: dict[int, Row] = {}
    for line in answer.stdout.splitlines():
        words = [*line.split(), "", ""]
        rows[int(words[0], 16)] = (words[1], words[2], words[3])
    return rows


def main() -> int:
    """Compare all libraries named on the command line."""
    failed = False
    for library in sys.argv[2:]:
        expected = expected_rows(library)
        parsed = parsed_rows(sys.argv[1], library, sorted(expected))
        wrong = [at for at in expected if expected[at] != parsed.get(at)]
        print(f"rows: {library}: {len(expected)} addresses, {len(wrong)} differ")
        for at in wrong[:10]:
            print(f"  {at:x}: readelf {expected[at]}, parsed {parsed.get(at)}")
        failed = failed or bool(wrong) or not expected
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
