"""A recording against the naive model: every number that differs, in a line each."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict

from harness.counters import Counters, add, table_counters
from harness.model import Heap, Site, address_of
from heapglass.model import HeapSource, Histogram

# What the model calls the site with this id; None when the model knows nothing of it.
KeyOf = Callable[[int], Hashable]

# The recorder reads a coarse clock: it may lag by a scheduler tick (10 ms at worst) and rounds
# down to about a millisecond.
TICK_NS = 12_000_000
# A thread that goes on without leaving its processor, as one that spins for its turn does, may use
# a reading for longer; above a tenth of a second that is counted as a loss.
CLOCK_NS = TICK_NS + 100_000_000
BUCKETS = 48
HISTOGRAMS = 300  # compared at most
_NOT_COUNTERS = ("sizes", "lifetimes")


def site_differences(
    source: HeapSource, heap: Heap, key_of: KeyOf, without: tuple[str, ...] = ()
) -> list[str]:
    """Counters of every site, both ways round."""
    recorded: dict[Hashable, Counters] = {}
    for site, counters in table_counters(source.sites()):
        add(recorded.setdefault(key_of(site), {}), counters)
    recorded.pop(None, None)
    found = []
    for key in recorded.keys() | heap.sites.keys():
        true = asdict(heap.sites.get(key, Site()))
        expected = {k: v for k, v in true.items() if k not in (*_NOT_COUNTERS, *without)}
        got = recorded.get(key, dict.fromkeys(expected, 0) | {"largest": -1, "smallest": -1})
        wrong = {k: (got[k], v) for k, v in expected.items() if got[k] != v}
        found += [f"{_short(key)} {k}: recorded {a}, true {b}" for k, (a, b) in wrong.items()]
    return found


def block_differences(source: HeapSource, heap: Heap, key_of: KeyOf) -> list[str]:
    """The ledger: exactly the live blocks, with their sizes, sites and births."""
    table, start = source.blocks(), source.process.started_wall_ns
    alive = {address_of(block): value for block, value in heap.blocks.items()}
    found, seen = [], set()
    columns = (table.address, table.size, table.site, table.birth_ns)
    for address, size, site, birth in zip(*(c.tolist() for c in columns), strict=True):
        if key_of(site) is None:
            continue
        seen.add(address)
        block = alive.get(address)
        if block is None:
            found.append(f"{address:#x} of {size} bytes is not alive")
        elif (size, key_of(site)) != (block.size, block.site):
            found.append(f"{address:#x}: recorded {size} bytes of {_short(key_of(site))}, "
                         f"true {block.size} of {_short(block.site)}")  # fmt: skip
        elif not block.born[0] - CLOCK_NS <= birth + start <= block.born[1] + CLOCK_NS:
            found.append(f"{address:#x}: born {birth + start - block.born[0]} ns off")
    return found + [f"{address:#x} is missing" for address in alive.keys() - seen]


def histogram_differences(source: HeapSource, heap: Heap, key_of: KeyOf) -> list[str]:
    """Sizes exactly; lifetimes as far as the clock can tell. Of very many sites, some."""
    sites: dict[Hashable, list[int]] = {}
    for site in source.sites().id.tolist():
        sites.setdefault(key_of(site), []).append(site)
    found = []
    for key in list(heap.sites)[-HISTOGRAMS:]:
        true, recorded = heap.sites[key], sites.get(key, [])
        sizes = _sum([source.size_histogram(site) for site in recorded])
        if sizes != [true.sizes[bucket] for bucket in range(BUCKETS)]:
            found.append(f"{_short(key)} sizes: {sizes}, true {true.sizes}")
        lifetimes = _sum([source.lifetime_histogram(site) for site in recorded])
        if (line := _lifetime_difference(lifetimes, true)) is not None:
            found.append(f"{_short(key)} lifetimes: {line}")
    return found


def _sum(histograms: list[Histogram]) -> list[int]:
    return [sum(int(h.counts[bucket]) for h in histograms) for bucket in range(BUCKETS)]


def _lifetime_difference(counts: list[int], site: Site) -> str | None:
    if sum(counts) != len(site.lifetimes):
        return f"{sum(counts)} in all, true {len(site.lifetimes)}"
    for bucket in range(BUCKETS):
        below, limit = sum(counts[: bucket + 1]), (1 << bucket) << 20
        surely = sum(at_most + CLOCK_NS < limit for _, at_most in site.lifetimes)
        possibly = sum(at_least - CLOCK_NS < limit for at_least, _ in site.lifetimes)
        if not surely <= below <= possibly:
            return f"{below} below {limit} ns, true {surely} to {possibly}"
    return None


def thread_differences(source: HeapSource, heap: Heap) -> list[str]:
    names = ("allocations", "frees", "bytes_allocated", "bytes_freed", "temporary")
    got = {t.tid: {n: getattr(t, n) for n in names} for t in source.threads}
    true = {tid: asdict(counts) for tid, counts in heap.threads.items()}
    got = {tid: counts for tid, counts in got.items() if any(counts.values())}
    true = {tid: counts for tid, counts in true.items() if any(counts.values())}
    return [f"thread {tid}: recorded {got.get(tid)}, true {true.get(tid)}"
            for tid in got.keys() | true.keys() if got.get(tid) != true.get(tid)]  # fmt: skip


def total_differences(source: HeapSource, heap: Heap) -> list[str]:
    totals = source.totals
    pairs = {
        "live bytes": (totals.live_bytes, heap.live_bytes),
        "live blocks": (totals.live_blocks, len(heap.blocks)),
        "peak": (totals.peak_bytes, heap.peak_bytes),
        "slack": (totals.slack_bytes, heap.slack_bytes),
    }
    found = [f"{name}: recorded {a}, true {b}" for name, (a, b) in pairs.items() if a != b]
    peak, true = totals.usable_peak_bytes, heap.usable_peak_bytes
    if peak is not None and abs(peak - true) > source.losses.usable_peak_error_bytes:
        found.append(f"usable peak: recorded {peak}, true {true}")
    return found


def differences(source: HeapSource, heap: Heap, key_of: KeyOf) -> list[str]:
    """All of the above."""
    return [
        *total_differences(source, heap),
        *thread_differences(source, heap),
        *site_differences(source, heap, key_of),
        *block_differences(source, heap, key_of),
        *histogram_differences(source, heap, key_of),
    ]


def _short(key: Hashable) -> str:
    if isinstance(key, tuple) and len(key) > 4 and all(isinstance(x, int) for x in key):
        return "[" + " ".join(f"{x:x}" for x in key[:4]) + f" ... {len(key)}]"
    return str(key)
