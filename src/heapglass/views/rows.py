"""One site as a row: its counters, its named stack, and who answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from heapglass.analysis.counters import Counters, Rows, counters_at
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, find_responsible
from heapglass.model import Frame, SiteTable


@dataclass(frozen=True, slots=True)
class SiteRow:
    site: int
    counters: Counters
    stack: NamedStack
    responsible: Frame | None  # None for a stack without frames
    callers: tuple[Frame, ...]  # of the responsible frame, nearest first, without plumbing


def build_rows(
    table: SiteTable, rows: Rows, stacks: Mapping[int, NamedStack], plumbing: Plumbing
) -> tuple[SiteRow, ...]:
    return tuple(_build_row(table, int(row), stacks, plumbing) for row in rows)


def _build_row(
    table: SiteTable, row: int, stacks: Mapping[int, NamedStack], plumbing: Plumbing
) -> SiteRow:
    site = int(table.id[row])
    stack = stacks[site]
    index = find_responsible(stack, plumbing)
    outer = stack.frames[index + 1 :] if index >= 0 else ()
    return SiteRow(
        site,
        counters_at(table, row),
        stack,
        stack.frames[index] if index >= 0 else None,
        tuple(frame for frame in outer if not plumbing.covers(frame)),
    )
