"""Which sites a report has, each with its node and its counters.

Sites that end at the same node are one. Where there are more than a report has room for, those
that matter least, by whatever measure they matter most, are put together as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heapglass.analysis.counters import SPREADS, Rows
from heapglass.analysis.plumbing import Plumbing
from heapglass.model import FrameAddress, HeapSource, SiteTable, Stack
from heapglass.model.tables import F64, I64
from heapglass.model.weights import SIDE
from heapglass.units import format_count
from heapglass.views.naming import Resolver
from heapglass.web.frame_tree import FrameTree, Outline

SUMMED = (
    "allocations",
    "bytes_allocated",
    "live_blocks",
    "live_bytes",
    "peak_blocks",
    "peak_bytes",
    "temporary",
)
ERRORS = (
    "allocations",
    "bytes_allocated",
    "live_bytes",
    "peak_blocks",
    "peak_bytes",
    "temporary",
)
_MEASURES = ("allocations", "bytes_allocated", "live_bytes", "peak_bytes", "temporary")


@dataclass(frozen=True, slots=True)
class ReportSites:
    """`place[id]` is the number, in this report, of the site with that id; -1: there is none."""

    table: SiteTable  # all sites of the source, as they were read for this
    tree: FrameTree
    outline: Outline
    node: I64  # of each site, rising
    columns: dict[str, I64]
    errors: dict[str, I64]  # standard errors, rounded; empty where all is exact
    place: I64
    folded: int  # sites put together as one

    def __len__(self) -> int:
        return len(self.node)


def build_sites(
    source: HeapSource, resolver: Resolver, plumbing: Plumbing, most: int
) -> ReportSites:
    table = source.sites()
    kept = find_weightiest(table, most)
    stacks = [source.stack(site) for site in table.id[kept].tolist()]
    addresses, numbers = number_addresses(stacks)
    names = resolver.resolve(addresses) if addresses else {}
    tree = FrameTree([names[address] for address in addresses], plumbing)
    nodes = np.full(len(table), -1, dtype=np.int64)
    nodes[kept] = [tree.add(*one) for one in zip(numbers, (s.cut for s in stacks), strict=True)]
    folded = len(table) - len(kept)
    if folded:
        nodes[nodes < 0] = tree.note(f"[{format_count(folded)} smaller sites]")
    outline = tree.outline()
    node, group = np.unique(np.array(outline.place, np.int64)[nodes], return_inverse=True)
    return ReportSites(
        table,
        tree,
        outline,
        node,
        {name: _sum(getattr(table, name), group, len(node)) for name in SUMMED}
        | _extremes(table, group, len(node)),
        _errors(table, group, len(node)),
        _places(table, group),
        folded,
    )


def find_weightiest(table: SiteTable, most: int) -> Rows:
    """At most so many rows, in their order: those with the largest share of anything."""
    if len(table) <= most:
        return np.arange(len(table))
    weight = np.zeros(len(table))
    for name in _MEASURES:
        values = getattr(table, name).astype(np.float64)
        weight = np.maximum(weight, values / max(1.0, values.sum()))
    rows: Rows = np.sort(np.argsort(-weight, kind="stable")[:most])
    return rows


def number_addresses(stacks: Sequence[Stack]) -> tuple[list[FrameAddress], list[list[int]]]:
    """All distinct addresses, and each stack as places in that list.

    A compiler has five million frames of ten thousand addresses. Most of them are the very same
    objects, and whether they are is found out faster than whether they are equal.
    """
    known: dict[FrameAddress, int] = {}
    known_objects: dict[int, int] = {}  # by id(), as long as the stacks keep them all
    numbered = []
    for stack in stacks:
        for address in stack.frames:
            if id(address) not in known_objects:
                known_objects[id(address)] = known.setdefault(address, len(known))
        numbered.append([known_objects[id(address)] for address in stack.frames])
    return list(known), numbered


def _sum(values: I64, group: Rows, count: int) -> I64:
    sums = np.zeros(count, dtype=np.int64)
    np.add.at(sums, group, values)
    return sums


def _extremes(table: SiteTable, group: Rows, count: int) -> dict[str, I64]:
    """Largest and smallest block, 0 where none was ever allocated."""
    largest = np.zeros(count, dtype=np.int64)
    np.maximum.at(largest, group, np.maximum(table.largest, 0))
    smallest = largest.copy()
    np.minimum.at(smallest, group, np.where(table.smallest < 0, largest[group], table.smallest))
    return {"largest": largest, "smallest": smallest}


def _errors(table: SiteTable, group: Rows, count: int) -> dict[str, I64]:
    if not np.any(table.sample_bytes):
        return {}
    return {name: np.rint(_error(table, name, group, count)).astype(np.int64) for name in ERRORS}


def _error(table: SiteTable, name: str, group: Rows, count: int) -> F64:
    """The page has one number for both sides of an interval: half of its longer one, so that twice
    the error holds the truth."""
    sums = []
    for spread in SPREADS:
        squares = np.zeros(count)
        np.add.at(squares, group, np.square(getattr(table, f"{name}_{spread}").astype(np.float64)))
        sums.append(np.sqrt(squares))
    error, below, above = sums
    wider: F64 = np.maximum(error, np.maximum(below, above) / SIDE)
    return np.where(error > 0, wider, 0.0)


def _places(table: SiteTable, group: Rows) -> I64:
    places = np.full(int(table.id.max(initial=0)) + 1, -1, dtype=np.int64)
    places[table.id] = group
    return places
