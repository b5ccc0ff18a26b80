"""Tables as columns of equal length, for a notebook: numpy here, data frames on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from heapglass.errors import MissingLibraryError
from heapglass.units import format_count

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

Text = NDArray[np.object_]
Bools = NDArray[np.bool_]
Column = NDArray[Any]
_ROWS_SHOWN = 20


class Table:
    """Mixed into dataclasses whose fields are all columns."""

    __slots__ = ()

    @property
    def columns(self) -> dict[str, Column]:
        return {column.name: getattr(self, column.name) for column in fields(self)}  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        count = f"{format_count(len(self))} row{'' if len(self) == 1 else 's'}"
        return f"<{type(self).__name__}: {count} of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows."""
        head = "".join(f"<th>{name}</th>" for name in self.columns)
        shown = self.take(np.arange(min(len(self), _ROWS_SHOWN)))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(str(value))}</td>' for value in row.values())}</tr>"
            for row in shown.rows()
        )
        more = len(self) - len(shown)
        rest = f"<p>and {format_count(more)} more</p>" if more else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as plain Python values, by column."""
        names = list(self.columns)
        for values in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))

    def take(self, chosen: NDArray[Any]) -> Self:
        """The rows of a mask, or those of these numbers in this order."""
        return type(self)(*(column[chosen] for column in self.columns.values()))

    def to_pandas(self) -> pd.DataFrame:
        return load_library("pandas").DataFrame(self.columns)

    def to_polars(self) -> pl.DataFrame:
        polars = load_library("polars")
        kinds = {"O": polars.String, "b": polars.Boolean, "f": polars.Float64, "i": polars.Int64}
        schema = {name: kinds[column.dtype.kind] for name, column in self.columns.items()}
        values = {name: _plain(column) for name, column in self.columns.items()}
        frame: pl.DataFrame = polars.DataFrame(values, schema=schema)
        return frame

    def to_arrow(self) -> pa.Table:
        arrow = load_library("pyarrow")
        kinds = {"O": arrow.string(), "b": arrow.bool_(), "f": arrow.float64(), "i": arrow.int64()}
        arrays = {
            name: arrow.array(_plain(column), type=kinds[column.dtype.kind])
            for name, column in self.columns.items()
        }
        return arrow.table(arrays)


def _plain(column: Column) -> Any:  # noqa: ANN401 (a list or an array)
    return column.tolist() if column.dtype.kind == "O" else column


def load_library(name: str, extra: str = "") -> Any:  # noqa: ANN401 (a module)
    """A library that only some need; MissingLibraryError says how to get it."""
    try:
        return import_module(name)
    except ImportError:
        what = f"heapglass[{extra}]" if extra else name
        raise MissingLibraryError(
            f"this needs {name}, which is not installed: pip install '{what}'"
        ) from None
