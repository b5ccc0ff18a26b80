"""A table as a Parquet file, written by DuckDB."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from heapglass.export.table import Table, load_library

duckdb = load_library("duckdb", "parquet")

_TYPES = {"O": "VARCHAR", "b": "BOOLEAN", "f": "DOUBLE", "i": "BIGINT"}


def write_table(table: Table, out: BinaryIO) -> None:
    """Through a file of its own: DuckDB writes no streams."""
    casts = ", ".join(
        f'"{name}"::{_TYPES[column.dtype.kind]} AS "{name}"'
        for name, column in table.columns.items()
    )
    with TemporaryDirectory(prefix="heapglass-") as directory, duckdb.connect() as connection:
        path = Path(directory, "table.parquet")
        connection.register("columns", table.columns)
        target = str(path).replace("'", "''")
        connection.execute(
            f"COPY (SELECT {casts} FROM columns)"  # noqa: S608 (column names are ours)
            f" TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
        with path.open("rb") as written:
            shutil.copyfileobj(written, out)
