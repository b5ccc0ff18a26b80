"""A table as comma-separated values with a line of column names."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from heapglass.export.table import Column, Table


def write_table(table: Table, out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, "utf-8", newline="", write_through=False)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(zip(*map(_cells, table.columns.values()), strict=True))
    text.flush()
    text.detach()


def _cells(column: Column) -> list[object]:
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in column.tolist()]
    cells: list[object] = column.tolist()
    return cells
