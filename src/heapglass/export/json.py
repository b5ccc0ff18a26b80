"""All tables in one document; each row is a line of its own, so that it can be read in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from heapglass.export.extract import Extract
from heapglass.export.making import TABLES
from heapglass.export.table import Column, Table

SCHEMA = "heapglass.export/1"


def write(extract: Extract, out: BinaryIO) -> None:
    out.write(f'{{\n"schema": {json.dumps(SCHEMA)}'.encode())
    for name, make in TABLES.items():
        out.write(f',\n"{name}": ['.encode())
        out.writelines(_lines(make(extract)))
        out.write(b"\n]")
    out.write(b"\n}\n")


def _lines(table: Table) -> Iterator[bytes]:
    """Column by column and then put together: twice as quick as row by row."""
    keys = (f"{json.dumps(name)}: %s" for name in table.columns)
    template = "\n{" + ", ".join(keys) + "}"
    separator = ""
    for row in zip(*map(_cells, table.columns.values()), strict=True):
        yield (separator + template % row).encode()
        separator = ","


def _cells(column: Column) -> Iterable[str]:
    if column.dtype.kind == "i":
        return map(str, column.tolist())
    return map(json.dumps, column.tolist())
