"""Whose each block in use is: the site's stack, the frame that answers for it, and the threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import basename

import numpy as np

from heapglass.analysis.names import fold_clones, qualified_name, split_scopes
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, find_responsible
from heapglass.coredump.bare import BareCore
from heapglass.coredump.chunks import Heap
from heapglass.coredump.source import CoreHeap
from heapglass.coredump.used import UsedTable, recorded_blocks
from heapglass.model import Frame, HeapSource, Thread
from heapglass.units import format_count
from heapglass.views.caveats import sampled_text
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.text.labels import function_text


@dataclass(frozen=True, slots=True)
class Owner:
    """What one site's blocks have in common. The ledger does not note the thread of each block:
    where several threads allocated at the site, it is one of them."""

    site: int
    stack: NamedStack
    responsible: Frame | None
    threads: tuple[Thread, ...]

    def is_of(self, function: str) -> bool:
        """Whether the function, by any of its names, or a return address in it is meant."""
        frame = self.responsible
        return frame is not None and function in _names(frame)

    def is_in(self, module: str) -> bool:
        """Whether the module, by its path or its name alone, is the responsible frame's."""
        path = self.responsible.module if self.responsible else ""
        return module in (path, basename(path))


@dataclass(frozen=True, slots=True)
class UsedView:
    """Blocks in use with their owners; a block that nobody recorded has none."""

    used: UsedTable
    owners: Mapping[int, Owner]
    moment_ns: int  # when the heap was as it is shown
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def build_used(source: HeapSource, resolver: Resolver, plumbing: Plumbing) -> UsedView:
    core = source if isinstance(source, CoreHeap) else None
    used = core.used() if core else recorded_blocks(source.blocks())
    sites = sorted({site for site in used.site.tolist() if site >= 0})
    return UsedView(
        used=used,
        owners=_owners(source, resolver, plumbing, sites),
        moment_ns=core.moment_ns if core else source.process.duration_ns,
        notes=(*source.notes, *_notes(source, core.heap if core else None, used)),
        warnings=tuple(resolver.warnings),
    )


def build_bare(core: BareCore) -> UsedView:
    """What a core shows whose tables are nowhere: blocks of no known owner."""
    return UsedView(used=core.used(), owners={}, moment_ns=0, notes=core.notes, warnings=())


def _notes(source: HeapSource, heap: Heap | None, used: UsedTable) -> tuple[str, ...]:
    """Why blocks may be missing, or their owners."""
    troubles = heap.troubles if heap else ()
    if source.recorder.mode == "exact":
        return troubles
    told = _ownerless_text(used) if heap else _unseen_text(source, used)
    return *troubles, f"{sampled_text(source.recorder)}: {told}"


def _ownerless_text(used: UsedTable) -> str:
    return (
        "the heap in the core shows all blocks, but of those that were not sampled no owner is"
        f" known: {format_count(len(used) - _count_owned(used))} of {format_count(len(used))} have"
        " none."
    )


def _unseen_text(source: HeapSource, used: UsedTable) -> str:
    totals = source.totals
    return (
        f"only {format_count(_count_owned(used))} recorded blocks are known, of"
        f" {format_count(totals.live_blocks)} that are live and hold"
        f" {format_count(totals.usable_live_bytes)} usable bytes; 'heapglass table' has estimates."
    )


def _count_owned(used: UsedTable) -> int:
    return int(np.count_nonzero(used.site >= 0))


def _owners(
    source: HeapSource, resolver: Resolver, plumbing: Plumbing, sites: Iterable[int]
) -> dict[int, Owner]:
    threads = _threads_by_site(source)
    owners = {}
    for site, stack in name_stacks(source, resolver, sites).items():
        index = find_responsible(stack, plumbing)
        frame = stack.frames[index] if index >= 0 else None
        owners[site] = Owner(site, stack, frame, tuple(threads.get(site, ())))
    return owners


def _threads_by_site(source: HeapSource) -> dict[int, list[Thread]]:
    found: dict[int, list[Thread]] = {}
    for shard, table in source.sites_by_shard().items():
        served = [thread for thread in source.threads if thread.shard == shard]
        for site in table.id[table.allocations > 0].tolist():
            found.setdefault(site, []).extend(served)
    return found


def _names(frame: Frame) -> set[str]:
    name = qualified_name(frame.function) if frame.function else function_text(frame)
    return {
        frame.function,
        fold_clones(frame.function),
        name,
        split_scopes(name)[-1],
        f"{frame.address:#x}",
    } - {""}
