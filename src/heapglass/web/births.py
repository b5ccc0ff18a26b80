"""When the blocks that remain were allocated: for each site, how much of it between which moments.

Only the sites with the most are told apart by time, as far as there is room; where blocks were
sampled each counts for those it stands for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from heapglass.analysis.blocks import block_weights
from heapglass.model import BlockTable
from heapglass.model.tables import F64, I64

MOST_ENTRIES = 100_000


@dataclass(frozen=True, slots=True)
class Births:
    """Equal lengths, in order of span and site. Span k ends with moment k, the last one with the
    run. Shares of a site that has any add up to a million."""

    span: I64
    site: I64
    share: I64
    left_out: int  # sites with remains that are not told apart by time


WHOLE = 1_000_000


def find_births(blocks: BlockTable, place: I64, moments_ns: I64, live_bytes: I64) -> Births:
    """`place` gives a site's number in the report by id, `live_bytes` by that number."""
    known = blocks.site < len(place)
    site = place[blocks.site[known]]
    span = np.searchsorted(moments_ns, blocks.birth_ns[known])
    weight = _weights(blocks)[known]
    spans = len(moments_ns) + 1
    keys, back = np.unique(site[site >= 0] * spans + span[site >= 0], return_inverse=True)
    sums = np.zeros(len(keys))
    np.add.at(sums, back, weight[site >= 0])
    return _choose(keys // spans, keys % spans, sums, live_bytes)


def _choose(site: I64, span: I64, size: F64, live_bytes: I64) -> Births:
    """The sites with the most bytes, until there are entries enough."""
    sites, first, entries = np.unique(site, return_index=True, return_counts=True)
    order = np.argsort(-live_bytes[sites], kind="stable")
    fitting = order[np.cumsum(entries[order]) <= MOST_ENTRIES]
    is_kept = np.zeros(len(sites), dtype=bool)
    is_kept[fitting] = True
    whole = np.repeat(np.add.reduceat(size, first) if len(first) else size, entries)
    share = np.rint(WHOLE * size / np.maximum(whole, 1)).astype(np.int64)
    kept = np.repeat(is_kept, entries)
    by_span = np.lexsort((site[kept], span[kept]))
    left_out = int(np.count_nonzero(~is_kept))
    return Births(span[kept][by_span], site[kept][by_span], share[kept][by_span], left_out)


def _weights(blocks: BlockTable) -> F64:
    """Bytes, at least one; a sample's divided by the chance that it had of being one."""
    weights: F64 = np.maximum(blocks.size, 1) * block_weights(blocks)
    return weights
