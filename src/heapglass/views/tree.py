"""The calls that lead to memory, as a tree with what each of them answers for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from heapglass.analysis.counters import SPREADS, take_rows
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.narrowed import absent_counters
from heapglass.analysis.order import SortKey, size_column, sort_column
from heapglass.analysis.tree import ROOT, CallTree, TreeShape, build_tree
from heapglass.analysis.windows import remainder_of
from heapglass.model import HeapSource, SiteTable
from heapglass.model.spread import Spreads
from heapglass.model.tables import F64, I64
from heapglass.units import Units, format_size
from heapglass.views.caveats import list_caveats
from heapglass.views.naming import Resolver, name_stacks
from heapglass.views.selection import TableQuery, select_sites

# What a node is shown with in JSON.
NODE_COUNTERS = (
    "allocations",
    "bytes_allocated",
    "live_blocks",
    "live_bytes",
    "peak_blocks",
    "peak_bytes",
    "temporary",
)
_LEAST_SHARE = 100  # a hundredth


@dataclass(frozen=True, slots=True)
class TreeQuery:
    sites: TableQuery  # of its plumbing only the shape's counts
    shape: TreeShape = field(default_factory=TreeShape)
    min_bytes: int | None = None  # None: a hundredth of the whole


@dataclass(frozen=True, slots=True)
class TreeView:
    """`total` and `own` are what is sorted by, of each node with and without what is below it;
    `below` has the nodes worth showing below each node, largest first."""

    caveats: tuple[str, ...]
    sort: SortKey
    remainder: Remainder
    tree: CallTree
    table: SiteTable  # the sites that the tree was built of
    total: I64
    error: Spreads  # standard errors of `total`; 0 where that is exact
    own: I64
    own_error: Spreads
    below: Sequence[Sequence[int]]
    shown: int  # nodes
    least: int  # in what is sorted by, or in bytes allocated where calls are
    warnings: tuple[str, ...]
    absent: frozenset[str]

    @property
    def whole(self) -> int:
        return int(self.total[ROOT])

    @property
    def is_count(self) -> bool:
        return size_column(self.sort) != sort_column(self.sort)


@dataclass(frozen=True, slots=True)
class Branch:
    """One line of a tree: nodes that follow each other without any fork worth showing."""

    nodes: tuple[int, ...]
    level: int
    trunks: tuple[bool, ...]  # for each level above: whether there is more to come below it
    is_last: bool


Watch = Callable[[Sequence[int]], Iterable[int]]


def build_tree_view(
    source: HeapSource, resolver: Resolver, query: TreeQuery, watch: Watch = iter
) -> TreeView:
    """`watch` is handed the sites and gives them back one by one, to see how far this is."""
    chosen = select_sites(source, resolver, query.sites)
    values = getattr(chosen.table, sort_column(chosen.sort))[chosen.rows]
    # What shrank in a window or was freed for another thread has no width.
    rows = chosen.rows[values > 0]
    table = take_rows(chosen.table, rows)
    sites = table.id.tolist()
    stacks = chosen.stacks or name_stacks(source, resolver, sites)
    tree = build_tree(watch(sites), stacks, query.shape)
    column = getattr(table, sort_column(chosen.sort))
    total = tree.totals(column)
    sizes = tree.totals(getattr(table, size_column(chosen.sort)))
    least = query.min_bytes
    is_shown = sizes >= least if least is not None else total * _LEAST_SHARE >= total[ROOT]
    return TreeView(
        caveats=(
            *list_caveats(source, chosen.table, query.sites.units),
            *_shrunk(values, chosen.sort, query.sites.units),
        ),
        sort=chosen.sort,
        remainder=remainder_of(source),
        tree=tree,
        table=table,
        total=total,
        error=node_spreads(tree.errors, table, sort_column(chosen.sort)),
        own=tree.own(column),
        own_error=node_spreads(tree.own_errors, table, sort_column(chosen.sort)),
        below=_sorted_below(tree, total, is_shown.tolist()),
        shown=int(is_shown.sum()) - 1,
        least=least if least is not None else -(-int(total[ROOT]) // _LEAST_SHARE),
        warnings=tuple(resolver.warnings),
        absent=absent_counters(source),
    )


def node_spreads(add_up: Callable[[F64], F64], table: SiteTable, name: str) -> Spreads:
    """Of the sums of a column by node, which `add_up` makes of what is known by site."""
    return Spreads(*(add_up(getattr(table, f"{name}_{spread}")) for spread in SPREADS))


def branches(view: TreeView) -> Iterator[Branch]:
    """Every line, in the order of the screen. A node is joined with the only one below it if what
    else there is, is not worth showing."""
    pending = [Branch((node,), 0, (), is_last=False) for node in reversed(view.below[ROOT])]
    while pending:
        branch = pending.pop()
        nodes = _chain(view, branch.nodes[0])
        yield Branch(nodes, branch.level, branch.trunks, branch.is_last)
        below = view.below[nodes[-1]]
        trunks = (*branch.trunks, not branch.is_last) if branch.level else ()
        pending += [
            Branch((node,), branch.level + 1, trunks, is_last=node == below[-1])
            for node in reversed(below)
        ]


def find_trunk(view: TreeView) -> tuple[int, ...]:
    """The nodes from the outermost in that everything worth showing is below."""
    return _chain(view, ROOT)[1:]


def _chain(view: TreeView, node: int) -> tuple[int, ...]:
    nodes = [node]
    while len(view.below[nodes[-1]]) == 1:
        (child,) = view.below[nodes[-1]]
        rest = int(view.total[nodes[-1]] - view.total[child])
        if rest * _LEAST_SHARE >= view.whole:
            break
        nodes.append(child)
    return tuple(nodes)


def _sorted_below(tree: CallTree, total: I64, is_shown: Sequence[bool]) -> list[list[int]]:
    totals = total.tolist()
    return [
        sorted((node for node in nodes if is_shown[node]), key=lambda node: -totals[node])
        for nodes in tree.children()
    ]


def _shrunk(values: I64, sort: SortKey, units: Units) -> Iterator[str]:
    less = -int(np.minimum(values, 0).sum())
    if less:
        size = format_size(less, units) if sort_column(sort).endswith("_bytes") else f"{less:,}"
        yield f"Sites that went down by {size} in all are left out: they have no width."
