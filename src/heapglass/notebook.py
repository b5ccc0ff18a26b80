"""`heapglass.open`: a recording as tables, for notebooks and scripts. docs/notebook.md shows it."""

from __future__ import annotations

from functools import cached_property
from os import PathLike, fspath
from types import TracebackType
from typing import Self

from heapglass.cli.source import open_source
from heapglass.export import making, tables
from heapglass.export.extract import Extract
from heapglass.export.metric import Metric
from heapglass.model import HeapSource, Process, Recorder
from heapglass.recording.file.of_process import find_recording
from heapglass.units import format_count, format_size
from heapglass.views.extract import ExtractQuery, build_extract
from heapglass.views.naming import Resolver


class Heap:
    """A recording, a core, or a running process, as it was when it was first asked for a table.

    Every table has its columns as attributes, numpy arrays of equal length, and becomes a data
    frame with `to_pandas()`, `to_polars()` or `to_arrow()`. docs/tables.md says what is in them.
    """

    def __init__(self, source: HeapSource, names: Resolver) -> None:
        self._source = source
        self._names = names
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Tables that were read stay; others cannot be read any more."""
        close = getattr(self._source, "close", None)
        if close is not None:
            close()
            self._is_closed = True

    def __repr__(self) -> str:
        if self._is_closed:
            return f"<heapglass.Heap {self.name}: closed>"
        totals, state = self._source.totals, self.process.state.value
        live = f"{format_size(totals.live_bytes)} in {format_count(totals.live_blocks)} blocks"
        peak = format_size(totals.peak_bytes)
        interval = self.recorder.sample_bytes
        sampled = f", sampled once in {format_size(interval)}" if interval else ""
        return f"<heapglass.Heap {self.name}: {state}, live {live}, peak {peak}{sampled}>"

    @property
    def name(self) -> str:
        return self._source.name

    @property
    def source(self) -> HeapSource:
        """What lies below: everything the model has."""
        return self._source

    @property
    def process(self) -> Process:
        return self._source.process

    @property
    def recorder(self) -> Recorder:
        return self._source.recorder

    @property
    def caveats(self) -> tuple[str, ...]:
        """What must be known before the numbers are read, in sentences; empty when nothing."""
        return self._extract.caveats

    @property
    def warnings(self) -> tuple[str, ...]:
        """What kept frames from having names."""
        _ = self._extract  # looks them up
        return tuple(self._names.warnings)

    @cached_property
    def totals(self) -> tables.Totals:
        return making.make_totals(self._extract)

    @cached_property
    def losses(self) -> tables.Losses:
        return making.make_losses(self._extract)

    @cached_property
    def sites(self) -> tables.Sites:
        return making.make_sites(self._extract)

    @cached_property
    def stacks(self) -> tables.Stacks:
        return making.make_stacks(self._extract)

    @cached_property
    def frames(self) -> tables.Frames:
        return making.make_frames(self._extract)

    @cached_property
    def blocks(self) -> tables.Blocks:
        return making.make_blocks(self._extract)

    @cached_property
    def timeline(self) -> tables.Points:
        return making.make_timeline(self._extract)

    @cached_property
    def marks(self) -> tables.Marks:
        return making.make_marks(self._extract)

    @cached_property
    def snapshots(self) -> tables.Changes:
        return making.make_snapshots(self._extract)

    @cached_property
    def threads(self) -> tables.Threads:
        return making.make_threads(self._extract)

    @cached_property
    def modules(self) -> tables.Modules:
        return making.make_modules(self._extract)

    @cached_property
    def _extract(self) -> Extract:
        return build_extract(self._source, self._names, ExtractQuery(metric=Metric.PEAK))


def open_heap(source: str | PathLike[str] | int) -> Heap:
    path = find_recording(source) if isinstance(source, int) else source
    opened = open_source(fspath(path))
    return Heap(opened.heap, opened.names)
