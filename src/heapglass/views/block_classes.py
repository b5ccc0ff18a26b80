"""The live blocks by size or by age: how many are in each class, in all and for each site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from heapglass.analysis.blocks import (
    CLASSIC_AGES_NS,
    CLASSIC_SIZES,
    BlockClass,
    Census,
    ages_ns,
    classify,
    count_classes,
    fine_ages_ns,
    fine_sizes,
    sum_sites,
    take_blocks,
)
from heapglass.analysis.filters import Filter
from heapglass.analysis.grouping import GroupBy, GroupKey, group_key
from heapglass.analysis.plumbing import Plumbing
from heapglass.model import BlockTable, Frame, HeapSource
from heapglass.model.spread import join_spreads
from heapglass.model.tables import I64
from heapglass.units import Units
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.rows import Origin, find_origin
from heapglass.views.selection import TableQuery, select_sites


class ClassKind(StrEnum):
    SIZE = "size"
    AGE = "age"


class ClassGroup(StrEnum):
    SITE = "site"
    FUNCTION = "function"
    FILE = "file"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class ClassQuery:
    kind: ClassKind
    is_fine: bool = False  # powers of two instead of dmalloc's classes
    group: ClassGroup | None = None
    filters: tuple[Filter, ...] = ()
    since_ns: int = 0  # when blocks were allocated
    until_ns: int | None = None
    sites: frozenset[int] | None = None  # only these
    min_bytes: int = 0  # of a block
    limit: int = 0  # rows of groups; 0: all
    units: Units = Units.IEC
    plumbing: Plumbing = field(default_factory=Plumbing)


@dataclass(frozen=True, slots=True)
class ClassRow:
    """One site, or all sites of a group, with its share of each class."""

    sites: tuple[int, ...]
    key: GroupKey | None  # None: a site
    origin: Origin  # of the first site
    blocks: int
    size_bytes: int
    blocks_error: float  # standard errors; 0 where all blocks are known
    bytes_error: float
    counts: tuple[int, ...]  # blocks by class
    count_errors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ClassView:
    caveats: tuple[str, ...]
    kind: ClassKind
    is_fine: bool
    group: ClassGroup | None
    allocations: int  # since the start, of all sites
    classes: tuple[BlockClass, ...]
    rows: tuple[ClassRow, ...]
    matched: int  # rows there would be without a limit
    warnings: tuple[str, ...]

    @property
    def blocks(self) -> int:
        return sum(one.blocks for one in self.classes)

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.classes)

    @property
    def blocks_error(self) -> float:
        return join_spreads(one.blocks_error for one in self.classes)

    @property
    def bytes_error(self) -> float:
        return join_spreads(one.bytes_error for one in self.classes)


def build_classes(source: HeapSource, resolver: Resolver, query: ClassQuery) -> ClassView:
    chosen = select_sites(source, resolver, TableQuery(filters=query.filters, units=query.units))
    sites = set(chosen.ids()) if query.sites is None else set(chosen.ids()) & query.sites
    is_all = not query.filters and query.sites is None
    blocks = _choose_blocks(source.blocks(), query, None if is_all else sorted(sites))
    values, lows = _values(source, blocks, query)
    rows = _rows(source, resolver, query, count_classes(values, lows, blocks))
    classes = classify(values, lows, blocks)
    return ClassView(
        caveats=list_caveats(source, source.sites(), query.units),
        kind=query.kind,
        is_fine=query.is_fine,
        group=query.group,
        allocations=source.totals.allocations,
        classes=classes[:-1] if query.is_fine else classes,
        rows=tuple(rows[: query.limit] if query.limit else rows),
        matched=len(rows),
        warnings=tuple(resolver.warnings),
    )


def _choose_blocks(
    blocks: BlockTable, query: ClassQuery, sites: Sequence[int] | None
) -> BlockTable:
    inside = (blocks.birth_ns >= query.since_ns) & (blocks.size >= query.min_bytes)
    if query.until_ns is not None:
        inside &= blocks.birth_ns <= query.until_ns
    if sites is not None:
        inside &= np.isin(blocks.site, np.array(sites, dtype=np.int64))
    return take_blocks(blocks, inside)


def _values(
    source: HeapSource, blocks: BlockTable, query: ClassQuery
) -> tuple[I64, tuple[int, ...]]:
    """What the blocks are sorted by, and where the classes begin."""
    if query.kind is ClassKind.SIZE:
        return blocks.size, fine_sizes(blocks.size) if query.is_fine else CLASSIC_SIZES
    ages = ages_ns(blocks, source.process.duration_ns)
    return ages, fine_ages_ns(ages) if query.is_fine else CLASSIC_AGES_NS


def _rows(
    source: HeapSource, resolver: Resolver, query: ClassQuery, found: Census
) -> list[ClassRow]:
    if query.group is None:
        return []
    sites = found.sites.tolist()
    stacks = name_stacks(source, resolver, sites)
    origins = {site: find_origin(stacks[site], query.plumbing) for site in sites}
    members: dict[GroupKey | int, list[int]] = {}
    for index, site in enumerate(sites):
        members.setdefault(_key(query.group, site, origins[site].responsible), []).append(index)
    rows = []
    for key, indexes in members.items():
        counts, _, count_errors, bytes_errors = zip(*sum_sites(found, indexes), strict=True)
        rows.append(
            ClassRow(
                sites=tuple(sites[index] for index in indexes),
                key=key if isinstance(key, GroupKey) else None,
                origin=origins[sites[indexes[0]]],
                blocks=round(float(found.blocks[indexes].sum())),
                size_bytes=round(float(found.size_bytes[indexes].sum())),
                blocks_error=join_spreads(count_errors),
                bytes_error=join_spreads(bytes_errors),
                counts=counts,
                count_errors=count_errors,
            )
        )
    return sorted(rows, key=lambda row: (-row.size_bytes, row.sites))


def _key(group: ClassGroup, site: int, frame: Frame | None) -> GroupKey | int:
    return site if group is ClassGroup.SITE else group_key(frame, GroupBy(group.value))
