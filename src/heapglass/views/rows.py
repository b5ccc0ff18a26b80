"""One site as a row: its counters, its named stack, and who answers for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import dropwhile

from heapglass.analysis.counters import Counters, Rows, counters_at
from heapglass.analysis.names import fold_clones
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, find_responsible
from heapglass.model import Frame, SiteTable


@dataclass(frozen=True, slots=True)
class Origin:
    """Where memory comes from: a stack, and the frame of it that answers."""

    stack: NamedStack
    responsible_index: int  # in the stack; -1 for a stack without frames
    plumbing: Plumbing

    @property
    def responsible(self) -> Frame | None:
        return self.stack.frames[self.responsible_index] if self.responsible_index >= 0 else None

    @property
    def callers(self) -> tuple[Frame, ...]:
        """Of the responsible function, nearest first, without plumbing. Compilers split one
        function into several, and functions call themselves: the nearest one has another name."""
        if self.responsible is None:
            return ()
        own = fold_clones(self.responsible.function)
        outer = self.stack.frames[self.responsible_index + 1 :]
        others = (frame for frame in outer if not self.plumbing.covers(frame))
        return tuple(dropwhile(lambda frame: own and fold_clones(frame.function) == own, others))


@dataclass(frozen=True, slots=True)
class SiteRow:
    site: int
    counters: Counters
    stack: NamedStack
    responsible_index: int  # in the stack; -1 for a stack without frames
    plumbing: Plumbing

    @property
    def origin(self) -> Origin:
        return Origin(self.stack, self.responsible_index, self.plumbing)

    @property
    def responsible(self) -> Frame | None:
        return self.origin.responsible

    @property
    def callers(self) -> tuple[Frame, ...]:
        return self.origin.callers


def find_origin(stack: NamedStack, plumbing: Plumbing) -> Origin:
    return Origin(stack, find_responsible(stack, plumbing), plumbing)


def build_rows(
    table: SiteTable, rows: Rows, stacks: Mapping[int, NamedStack], plumbing: Plumbing
) -> tuple[SiteRow, ...]:
    built = []
    for row in rows.tolist():
        site = int(table.id[row])
        index = find_responsible(stacks[site], plumbing)
        built.append(SiteRow(site, counters_at(table, row), stacks[site], index, plumbing))
    return tuple(built)
