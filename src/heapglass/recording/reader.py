"""A recording as a `HeapSource`: a running process, a finished one and a killed one alike.

What is kept is what cannot change any more: visible modules and stacks, and the image of a process
that has ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from heapglass.errors import RecordingError
from heapglass.model import BlockTable, LiveUnit, Pseudo
from heapglass.recording import schema, summary
from heapglass.recording.file.arenas import read_arena
from heapglass.recording.file.image import Image
from heapglass.recording.file.older import snapshot_of
from heapglass.recording.marks import name_marks, read_mark_records
from heapglass.recording.process import is_there
from heapglass.recording.tables import counters, histograms
from heapglass.recording.tables.ledger import birth_ns, read_blocks
from heapglass.recording.tables.modules import ModuleTable, read_module_records
from heapglass.recording.tables.rounding import Rounding
from heapglass.recording.tables.snapshots import accumulate, split
from heapglass.recording.tables.stacks import Stacks, read_site_records
from heapglass.recording.tables.timeline import read_timeline
from heapglass.recording.workings import read_workings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from heapglass.model import (
        Histogram,
        Losses,
        Mark,
        Module,
        Process,
        Recorder,
        SiteTable,
        Snapshot,
        Stack,
        Thread,
        Timeline,
        Totals,
        Workings,
    )
    from heapglass.recording.file.opened import RecordingFile
    from heapglass.recording.tables.bucket_weights import BucketWeights

# Lines read while the peak moved on are of two peaks; then they are read again, so many times.
_PEAK_TRIES = 2
# Of extents, and NONE; those that the format has beside them are filled by nobody yet.
KINDS_READ = frozenset(range(schema.KIND_MIDDLE + 1))


class Recording:
    """An open recording. Everything is read when asked for and may raise RecordingError."""

    def __init__(self, file: RecordingFile) -> None:
        self._file = file
        self._latest: Image | None = None
        self._is_final = False  # its process has ended: it stays as it is
        self._modules: ModuleTable | None = None
        self._stacks: Stacks | None = None
        self._image()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def name(self) -> str:
        return self._file.path

    @property
    def notes(self) -> Sequence[str]:
        about = self._file.about.notes() if self._file.about else ()
        return (*about, *self._skipped())

    @property
    def process(self) -> Process:
        return summary.process(self._image())

    @property
    def totals(self) -> Totals:
        totals = summary.totals(self._image())
        if totals.live_unit is LiveUnit.REQUESTED:
            return totals
        # No thread knows of those that were not sampled.
        temporary = min(int(self.sites().temporary.sum()), totals.frees)
        return replace(totals, temporary=temporary)

    @property
    def losses(self) -> Losses:
        return summary.losses(self._image())

    @property
    def recorder(self) -> Recorder:
        return summary.recorder(self._image())

    @property
    def workings(self) -> Workings:
        return read_workings(self._image())

    @property
    def threads(self) -> Sequence[Thread]:
        return summary.threads(self._image())

    @property
    def modules(self) -> Sequence[Module]:
        return self._read_modules().modules

    def sites(self) -> SiteTable:
        image, lines, is_annotated = self._read_sorted_lines()
        lines = lines.where(~is_annotated)
        known = counters.Known(summary.exact_totals(self._image()), self._size_rows(lines))
        return counters.clamp(counters.site_table(image, lines, self._read_stacks(), known))

    def annotated(self) -> SiteTable:
        # Few programs have any: then there is no need to read all lines once more.
        sites = np.flatnonzero(self._read_stacks().is_annotated)
        image, lines = self._read_lines(sites)
        known = counters.Known()
        return counters.clamp(counters.site_table(image, lines, self._read_stacks(), known))

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        """In one shard more may have been freed than allocated: live values may be negative."""
        image, lines, is_annotated = self._read_sorted_lines()
        lines = lines.where(~is_annotated)
        known = counters.Known(summary.exact_totals(self._image()), self._size_rows(lines))
        return dict(counters.by_shard(image, lines, self._read_stacks(), known))

    def stack(self, site: int) -> Stack:
        # What is known of a stack never changes, so a site seen before needs no new look.
        stack = self._stacks.stack(site) if self._stacks else None
        stack = stack or self._read_stacks().stack(site)
        if stack is None:
            raise self._no_site(site)
        return stack

    def cuts(self) -> Mapping[int, Pseudo]:
        stacks = self._read_stacks()
        sites = np.flatnonzero(stacks.cut)
        shown = sites[stacks.canonical[sites] == sites]
        reasons = stacks.cut[shown].tolist()
        return {site: Pseudo(why) for site, why in zip(shown.tolist(), reasons, strict=True)}

    def size_histogram(self, site: int | None = None) -> Histogram:
        known = summary.exact_totals(self._image())["allocations"] if site is None else None
        return self._histogram(histograms.sizes, site, known)

    def lifetime_histogram(self, site: int | None = None) -> Histogram:
        known = summary.ended_blocks(self._image()) if site is None else None
        return self._histogram(histograms.lifetimes, site, known)

    def blocks(self) -> BlockTable:
        blocks = read_blocks(self._image())
        canonical = self._read_stacks().canonical
        if np.any(blocks.site >= len(canonical)) or not np.all(canonical[blocks.site]):
            raise self._file.damaged("a block in it is of a site that does not exist")
        shift = self._read_stacks().sample_shift[blocks.site]
        return BlockTable(
            blocks.address,
            blocks.size,
            canonical[blocks.site],
            birth_ns(blocks.birth),
            np.where(shift > 0, 1 << shift, 0),
        )

    def timeline(self) -> Timeline:
        return read_timeline(self._image())

    def marks(self) -> Sequence[Mark]:
        records = read_mark_records(self._image())
        return name_marks(self._image(), records)

    def snapshots(self) -> Iterator[Snapshot]:
        arena = read_arena(self._image(), schema.KIND_SNAPSHOTS)
        header = self._image().header
        may_be_sampled = header.flags & schema.FLAG_USABLE
        whole = self.sites() if may_be_sampled else None
        estimated = whole if whole is not None and whole.samples.any() else None
        rounding = Rounding(header.start_wall_ns)
        entries = split(self._file, arena, snapshot_of(header))
        yield from accumulate(self._file, entries, self._read_stacks(), rounding, estimated)

    def _skipped(self) -> Sequence[str]:
        unknown = sorted(self._image().directory.kinds - KINDS_READ)
        if not unknown:
            return ()
        kinds = f"kind{'s' * (len(unknown) > 1)} {', '.join(map(str, unknown))}"
        return (f"Skipped parts of the recording that this heapglass does not read ({kinds}).",)

    def _image(self) -> Image:
        """The recording as it stands now. Whoever follows a reference from one table into another
        asks for a new image in between."""
        if self._is_final and self._latest and self._latest.is_current():
            return self._latest
        self._latest = Image(self._file, self._latest)
        self._is_final = not is_there(self._latest)
        if self._is_final:
            # Until a moment ago it may have gone on.
            self._latest = Image(self._file, self._latest)
        return self._latest

    def _read_modules(self) -> ModuleTable:
        records = read_module_records(self._image())
        if self._modules is None or self._modules.records != records:
            self._modules = ModuleTable(self._image(), records)
        return self._modules

    def _read_stacks(self) -> Stacks:
        records = read_site_records(self._image())
        modules = self._read_modules()
        known = self._stacks
        if known is None or known.records != records or known.modules is not modules:
            known = self._stacks = Stacks(self._image(), records, modules)
        return known

    def _read_lines(self, sites: NDArray[np.int64] | None = None) -> tuple[Image, counters.Lines]:
        for _ in range(_PEAK_TRIES):
            image = self._image()
            lines = counters.read_lines(image, sites)
            before, after = image.header, self._image().header
            if (before.peak_epoch, before.peak_rising) == (after.peak_epoch, after.peak_rising):
                break
        return image, lines

    def _read_sorted_lines(self) -> tuple[Image, counters.Lines, NDArray[np.bool_]]:
        """The lines, and which of them are of annotated blocks."""
        image, lines = self._read_lines()
        return image, lines, counters.is_annotated(image, lines, self._read_stacks())

    def _size_rows(self, lines: counters.Lines) -> BucketWeights | None:
        """What was sampled by size, None where nothing was."""
        shift = counters.sample_shift(self._image(), lines, self._read_stacks())
        return histograms.size_rows(self._image(), lines, shift) if shift.any() else None

    def _histogram(
        self,
        read: Callable[[Image, counters.Lines, NDArray[np.int64], int | None], Histogram],
        site: int | None,
        exact_total: int | None,
    ) -> Histogram:
        sites = None
        if site is not None:
            sites = self._read_stacks().sites_like(site)
            if not len(sites):
                raise self._no_site(site)
        lines = counters.read_lines(self._image(), sites)
        if sites is None:
            lines = lines.where(~counters.is_annotated(self._image(), lines, self._read_stacks()))
        shift = counters.sample_shift(self._image(), lines, self._read_stacks())
        return read(self._image(), lines, shift, exact_total)

    def _no_site(self, site: int) -> RecordingError:
        return RecordingError(f"{self.name} has no site {site}")
