"""The table of formats."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from importlib import import_module
from typing import Any


class Trait(Flag):
    NONE = 0
    BINARY = auto()  # nothing for a terminal
    TABLES = auto()  # one file per table
    HISTORY = auto()  # over time, as the snapshots have it
    FROM_START = auto()  # and only from the start on
    ERRORS = auto()  # with the standard errors of estimates


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    suffix: str
    help: str
    traits: Trait = Trait.NONE

    def load(self) -> Any:  # noqa: ANN401 (a module)
        """Its module; MissingLibraryError where that needs what is not installed."""
        return import_module(f"heapglass.export.{self.name}")


_TABLES = Trait.TABLES | Trait.ERRORS
_FROM_START = Trait.HISTORY | Trait.FROM_START
FORMATS = {
    known.name: known
    for known in (
        Format("pprof", "pb.gz", "profile.proto for pprof and all that read it", Trait.BINARY),
        Format("speedscope", "speedscope.json", "flame graphs for speedscope"),
        Format("collapsed", "folded", "one stack a line, for flame graph scripts"),
        Format("massif", "massif", "for ms_print and massif-visualizer", _FROM_START),
        Format(
            "trace", "trace.json", "the timeline for Perfetto and chrome://tracing", Trait.HISTORY
        ),
        Format("pmem", "pmem.log", "snapshots in the layout of pmem's log", _FROM_START),
        Format("parquet", "parquet", "tables for DuckDB and others", Trait.BINARY | _TABLES),
        Format("csv", "csv", "the same tables as text", _TABLES),
        Format("json", "json", "the same tables in one document", Trait.ERRORS),
    )
}
