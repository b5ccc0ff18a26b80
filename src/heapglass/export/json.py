"""All tables in one document; each row is a line of its own, so that it can be read in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import BinaryIO

from heapglass.export.extract import Extract
from heapglass.export.making import TABLES
from heapglass.export.table import Table

SCHEMA = "heapglass.export/1"


def write(extract: Extract, out: BinaryIO) -> None:
    out.write(f'{{\n"schema": {json.dumps(SCHEMA)}'.encode())
    for name, make in TABLES.items():
        out.write(f',\n"{name}": ['.encode())
        out.writelines(_lines(make(extract)))
        out.write(b"\n]")
    out.write(b"\n}\n")


def _lines(table: Table) -> Iterator[bytes]:
    separator = ""
    for row in table.rows():
        yield f"{separator}\n{json.dumps(row)}".encode()
        separator = ","
