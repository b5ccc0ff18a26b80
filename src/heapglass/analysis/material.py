"""Which losses are material: those that may change a figure that is shown by one per cent or more.

They stand at the top of every report; the others are in `heapglass doctor`. This is the one place
that decides it. Nobody knows how large the blocks were that were not seen, so a loss is weighed by
count, against the least of the counts that it may be missing from. What sites with cut stacks hold
is known: they are weighed by bytes, too.

Imports nothing that takes time: `heapglass run` asks this when a program has ended.
"""

from __future__ import annotations

from heapglass.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from heapglass.model import HeapSource, SiteTable

_IN_A_HUNDRED = 100
_COUNTERS = ("allocations", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes")

# Why a stack ends early (the values of model.Pseudo), by the loss that counts it.
CUTS = {"stack_depth": 1, "stack_no_rule": 2, "stack_bounds": 3, "stack_bad_rule": 4}


class Figures(NamedTuple):
    """The counts that losses are weighed against."""

    allocations: int
    frees: int
    live_blocks: int
    located: int  # allocations that have a stack: where blocks are sampled, samples
    is_light: bool  # totals are counted apart from what is recorded of a block


def is_material(lost: int, figure: int) -> bool:
    """Whether a figure may be off by one per cent or more if it lacks `lost`."""
    return lost > 0 and lost * _IN_A_HUNDRED >= figure


def is_loss_material(kind: str, events: int, figures: Figures) -> bool:
    """`kind` is a value of model.LossKind."""
    if figures.is_light and kind in _APART:
        return is_material(events, figures.located)
    touched = _TOUCHED[kind]
    return touched is not None and is_material(events, touched(figures))


def material_losses(source: HeapSource, table: SiteTable) -> frozenset[str]:
    """The kinds of a source's losses that are; `table` holds all sites of the source."""
    items = [loss for loss in source.losses.items if loss.events]
    if not items:
        return frozenset()
    figures = _figures(source, table)
    return frozenset(
        loss.kind.value
        for loss in items
        if is_loss_material(loss.kind.value, loss.events, figures)
        or _is_cut_material(source, table, loss.kind.value)
    )


def _figures(source: HeapSource, table: SiteTable) -> Figures:
    totals = source.totals
    is_exact = source.recorder.mode == "exact"
    return Figures(
        totals.allocations,
        totals.frees,
        totals.live_blocks,
        totals.allocations if is_exact else int(table.samples.sum()),
        totals.live_unit == "usable",
    )


def _is_cut_material(source: HeapSource, table: SiteTable, kind: str) -> bool:
    """Whether sites with a stack cut like this hold so much of anything."""
    if kind not in CUTS:
        return False
    cut = {site for site, reason in source.cuts().items() if reason == CUTS[kind]}
    rows = [row for row, site in enumerate(table.id.tolist()) if site in cut]
    columns = (getattr(table, name) for name in _COUNTERS)
    return any(is_material(int(column[rows].sum()), int(column.sum())) for column in columns)


def _missed_allocation(figures: Figures) -> int:
    return min(figures.allocations, figures.live_blocks)


def _missed_free(figures: Figures) -> int:
    return min(figures.frees, figures.live_blocks)


def _missed_event(figures: Figures) -> int:
    return min(figures.allocations, figures.frees, figures.live_blocks)


def _unknown_block(figures: Figures) -> int:
    """Neither its allocation nor its free is counted; live it is no longer."""
    return min(figures.allocations, figures.frees)


def _stack(figures: Figures) -> int:
    return figures.located


def _histogram(figures: Figures) -> int:
    """Sizes are those of allocations, lifetimes those of frees."""
    return min(figures.allocations, figures.frees)


def _time(figures: Figures) -> int:
    return figures.allocations + figures.frees


# By kind, the count that it may be missing from; None: no figure lacks anything. Blocks from the
# parent process are in its recording, and without a snapshot the history is coarser, not wrong.
_TOUCHED: dict[str, Callable[[Figures], int] | None] = {
    "reentrant": _missed_allocation,
    "ledger_full": _missed_allocation,
    "sites_full": _stack,
    "counters_full": _missed_event,
    "early": _missed_allocation,
    "missed_free": _missed_free,
    "unknown_free": _unknown_block,
    "inherited_free": None,
    "stack_depth": _stack,
    "stack_no_rule": _stack,
    "stack_bounds": _stack,
    "stack_bad_rule": _stack,
    "histogram": _histogram,
    "snapshot": None,
    "thread": _missed_event,
    "clock": _time,
}
_APART = ("ledger_full", "counters_full")
