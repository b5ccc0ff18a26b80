"""Sites put together by what their responsible frames have in common, or by thread.

Each site belongs to exactly one group of a grouping by function, file or module, so the groups
add up to the sites. By thread a site's counters are split by who made the calls; these add up too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import Counters, sum_counters
from heapglass.analysis.names import fold_clones
from heapglass.analysis.order import SortKey, sort_column
from heapglass.model import Frame, SiteTable, Thread


class GroupBy(StrEnum):
    FUNCTION = "function"
    FILE = "file"
    MODULE = "module"
    THREAD = "thread"


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What the sites of a group share. `name` is "" where it is not known; `module` is then, and
    for functions, what tells two groups apart."""

    name: str
    module: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    key: GroupKey
    counters: Counters
    sites: tuple[int, ...]  # ids
    frame: Frame | None = None  # of its largest site, for groups by function


def group_key(frame: Frame | None, by: GroupBy) -> GroupKey:
    """The group a responsible frame puts its site into."""
    if frame is None:
        return GroupKey("")
    if by is GroupBy.MODULE:
        return GroupKey(frame.module)
    if by is GroupBy.FILE:
        return GroupKey(frame.file) if frame.file else GroupKey("", frame.module)
    return GroupKey(fold_clones(frame.function), frame.module)


def group_sites(
    table: SiteTable, frames: Mapping[int, Frame | None], by: GroupBy
) -> tuple[Group, ...]:
    """Groups of all sites in `table`, in order of first appearance; `frames` by site id."""
    rows_of: dict[GroupKey, list[int]] = {}
    for row, site in enumerate(table.id.tolist()):
        rows_of.setdefault(group_key(frames[site], by), []).append(row)
    groups = []
    for key, rows in rows_of.items():
        picked = np.array(rows, dtype=np.intp)
        sites = tuple(table.id[picked].tolist())
        frame = frames[sites[0]] if by is GroupBy.FUNCTION else None
        groups.append(Group(key, sum_counters(table, picked), sites, frame))
    return tuple(groups)


def group_threads(
    shards: Mapping[int, SiteTable], threads: Sequence[Thread], sites: Iterable[int]
) -> tuple[Group, ...]:
    """One group per shard that touched any of `sites`, named after the threads it served."""
    wanted = np.array(sorted(sites), dtype=np.int64)
    groups = []
    for shard, table in sorted(shards.items()):
        rows = np.flatnonzero(np.isin(table.id, wanted))
        if len(rows) == 0:
            continue
        names = name_threads([thread for thread in threads if thread.shard == shard])
        ids = tuple(table.id[rows].tolist())
        groups.append(Group(GroupKey(names), sum_counters(table, rows), ids))
    return tuple(groups)


def name_threads(threads: Sequence[Thread]) -> str:
    """The distinct names in order of appearance, with how many there were: `main, worker (12)`."""
    ordered = sorted(threads, key=lambda thread: (thread.first_seen_ns, thread.tid))
    names = Counter(thread.name or f"thread {thread.tid}" for thread in ordered)
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in names.items())


def sort_groups(groups: Iterable[Group], key: SortKey) -> list[Group]:
    """Largest first; equal ones as they came."""
    column = sort_column(key)
    if key is SortKey.LEAKED:
        groups = (group for group in groups if group.counters.live_blocks > 0)
    return sorted(groups, key=lambda group: -int(getattr(group.counters, column)))
