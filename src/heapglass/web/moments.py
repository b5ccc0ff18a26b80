"""The history of a report: snapshots, thinned until they fit, whatever the length of the run.

Two things may go, and the page says which did: every other snapshot, as often as needed; and
changes of a site that are small against the whole. The latter are carried on until they add up to
something, so no site is ever further off than that, and each moment's totals stay exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from heapglass.model import Snapshot
from heapglass.model.tables import I64

COLUMNS = ("live_blocks", "live_bytes", "allocations", "bytes_allocated")
_LIVE_BYTES, _BYTES_ALLOCATED = COLUMNS.index("live_bytes"), COLUMNS.index("bytes_allocated")
MOST_MOMENTS = 400
_ENOUGH_MOMENTS = 64  # from here on single changes go before moments do
_FIRST_GRAIN = 2.0**-20
_COARSER = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """What changed since the moment before, one row a site, and how much there was of all."""

    time_ns: int
    site: I64  # numbers of the report, rising
    change: I64  # rows as `site`, columns as COLUMNS
    total: I64


@dataclass(frozen=True, slots=True)
class History:
    moments: tuple[Moment, ...]
    taken: int  # snapshots that there were
    grain: float = 0.0  # changes of less than this share of the whole were carried on


def read_history(snapshots: Iterable[Snapshot], place: I64, site_count: int) -> History:
    """`place` gives a site's number in the report, by id."""
    moments: list[Moment] = []
    before = np.zeros((site_count, len(COLUMNS)), dtype=np.int64)
    stride, taken = 1, 0
    for number, snapshot in enumerate(snapshots):
        taken = number + 1
        if number % stride:
            continue
        now = _values(snapshot, place, site_count)
        moments.append(_moment(snapshot.time_ns, before, now))
        before = now
        # One more, so that the latest stays when every other one goes.
        if len(moments) > 2 * MOST_MOMENTS:
            moments, stride = _halve(moments), 2 * stride
    while len(moments) > MOST_MOMENTS:
        moments = _halve(moments)
    return History(tuple(moments), taken)


def fit_history(history: History, pack: Callable[[History], bytes], room: int) -> bytes:
    """Packed as finely as fits into `room`; without moments if nothing does."""
    packed, grain = pack(history), _FIRST_GRAIN
    while len(packed) > room:
        if grain >= 1:
            return pack(History((), history.taken))
        if len(history.moments) >= 2 * _ENOUGH_MOMENTS:
            history = History(tuple(_halve(history.moments)), history.taken)
            packed = pack(history)
        else:
            packed = pack(coarsen(history, grain))
            grain *= _COARSER
    return packed


def coarsen(history: History, grain: float) -> History:
    """Carry on what changed by less than `grain` of the most there ever was."""
    if not history.moments:
        return history
    totals = np.stack([moment.total for moment in history.moments])
    least = grain * np.maximum(totals.max(axis=0), 1)
    sites = 1 + max(int(moment.site.max(initial=-1)) for moment in history.moments)
    carried = np.zeros((sites, len(COLUMNS)), dtype=np.int64)
    moments = []
    for moment in history.moments:
        carried[moment.site] += moment.change
        size = np.abs(carried[moment.site])
        counts = (_LIVE_BYTES, _BYTES_ALLOCATED)
        shown = moment.site[np.any([size[:, one] >= least[one] for one in counts], axis=0)]
        moments.append(Moment(moment.time_ns, shown, carried[shown], moment.total))
        carried[shown] = 0
    return History(tuple(moments), history.taken, grain)


def _values(snapshot: Snapshot, place: I64, site_count: int) -> I64:
    known = np.flatnonzero(snapshot.site < len(place))
    known = known[place[snapshot.site[known]] >= 0]
    rows = place[snapshot.site[known]]
    # As floats, which hold any real size exactly, they are added up ten times as fast.
    columns = [
        np.bincount(rows, weights=getattr(snapshot, name)[known], minlength=site_count)
        for name in COLUMNS
    ]
    return np.stack(columns, axis=1).astype(np.int64)


def _moment(time_ns: int, before: I64, now: I64) -> Moment:
    change = now - before
    site = np.flatnonzero(change.any(axis=1))
    return Moment(time_ns, site, change[site], now.sum(axis=0))


def _halve(moments: Sequence[Moment]) -> list[Moment]:
    """Every other one, from the first on, with the changes of those between."""
    kept = list(moments[:1])
    for middle, last in zip(moments[1::2], moments[2::2], strict=False):
        kept.append(_join(middle, last))
    return kept


def _join(earlier: Moment, later: Moment) -> Moment:
    site, place = np.unique(np.concatenate([earlier.site, later.site]), return_inverse=True)
    change = np.zeros((len(site), len(COLUMNS)), dtype=np.int64)
    np.add.at(change, place, np.concatenate([earlier.change, later.change]))
    return Moment(later.time_ns, site, change, later.total)
