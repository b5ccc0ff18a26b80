"""A recorder in plain Python that follows the rules of format.h event by event.

It keeps what the native core keeps (lines with epochs, implied buckets, birth codes, deltas), so a
recording made from it exercises every rule a reader must know. It does not know what the answers
are; that is the oracle's part.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from heapglass.recording import schema
from heapglass.recording.file.writer import Value, Writer, pack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recordings.oracle import At

LOADED = 0xFFFFFFFF
SITE_OTHER = 1
LARGE_SLOTS = schema.STEP // schema.Large.SIZE


@dataclass
class Line:
    counters: dict[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        return self.counters.get(name, 0)

    def __setitem__(self, name: str, value: int) -> None:
        self.counters[name] = value


@dataclass
class ThreadState:
    shard: int
    record: dict[str, int | bytes | list[int]]
    last_block: int = 0

    def add(self, name: str, value: int = 1) -> None:
        before = self.record.get(name, 0)
        assert isinstance(before, int)
        self.record[name] = before + value


@dataclass
class Block:
    size: int
    site: int
    birth: int  # code
    usable: int


def birth_code(now_ns: int) -> int:
    ticks = now_ns >> schema.TICK_SHIFT
    if ticks < 1 << 22:
        return ticks
    exponent = ticks.bit_length() - 21
    return exponent << 21 | (ticks >> (exponent - 1)) & ((1 << 21) - 1)


def ticks_of(code: int) -> int:
    if code < 1 << 22:
        return code
    return ((1 << 21) | code & ((1 << 21) - 1)) << ((code >> 21) - 1)


def bucket_of(value: int) -> int:
    return min(value.bit_length(), schema.BUCKETS - 1)


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


class SlowRecorder:
    def __init__(self, granule_shift: int = 5) -> None:
        self.granule_shift = granule_shift
        self.modules: list[dict[str, int | bytes]] = []
        self.strings = bytearray(1)
        self.nodes: list[dict[str, int]] = [{}]
        self.sites: list[dict[str, int]] = [{}]
        self.index: dict[tuple[int, int], int] = {}
        self.threads: list[ThreadState] = []
        self.lines: dict[tuple[int, int], Line] = {}
        self.histograms: list[list[int]] = [[0] * schema.BUCKETS]
        self.blocks: dict[int, Block] = {}
        self.live = self.peak = self.peak_ns = self.epoch = 0
        self.rising = False
        self.points: list[dict[str, int]] = []
        self.snapshots = bytearray()
        self.previous: dict[int, list[int]] = {}
        self.header_losses = [0] * schema.LOSS_SLOTS
        self.site([], schema.PSEUDO_OTHER, 0)

    # ---- modules, stacks -----------------------------------------------------------------------

    def load(self, start: int, end: int, path: bytes, **more: int | bytes) -> int:
        offset = len(self.strings)
        self.strings += path + b"\0"
        self.modules.append(
            {
                "start": start,
                "end": end,
                "node_first": len(self.nodes),
                "node_end": LOADED,
                "path": offset,
                **more,
            }
        )
        return len(self.modules) - 1

    def unload(self, module: int) -> None:
        record = self.modules[module]
        record["node_end"] = len(self.nodes)
        start, end = record["start"], record["end"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        gone = [key for key in self.index if start <= key[1] < end]
        for key in gone:
            del self.index[key]

    def site(self, frames: list[int], cut: int, now_ns: int, *, is_race: bool = False) -> int:
        """The site of a stack, innermost frame first. A race makes every node of it anew."""
        node = 0
        for address in [*([cut] if cut else []), *reversed(frames)]:
            known = self.index.get((node, address))
            if known is None or is_race:
                self.nodes.append({"address": address, "parent": node})
                known = len(self.nodes) - 1
                self.index.setdefault((node, address), known)
            node = known
        site = self.nodes[node].get("site", 0)
        if not site:
            self.sites.append({"node": node, "depth": len(frames), "first_seen": now_ns})
            site = self.nodes[node]["site"] = len(self.sites) - 1
        return site

    # ---- events --------------------------------------------------------------------------------

    def thread(self, tid: int, name: bytes, now_ns: int, shard: int | None = None) -> int:
        shard = len(self.threads) if shard is None else shard
        record: dict[str, int | bytes | list[int]] = {
            "tid": tid,
            "shard": shard,
            "name": name,
            "first_seen": now_ns,
            "last_seen": now_ns,
        }
        self.threads.append(ThreadState(shard, record))
        return len(self.threads) - 1

    def allocate(self, at: At, address: int, size: int, site: int) -> None:
        block = Block(size, site, birth_code(at.now_ns), usable_of(size))
        self.blocks[address] = block
        self._before(size)
        line = self._line(at.thread, site)
        self._arrive(line, size)
        self._after(size, at.now_ns)
        self._count_arrival(at, address, block)

    def free(self, at: At, address: int) -> None:
        block = self.blocks.pop(address)
        self._before(-block.size)
        line = self._line(at.thread, block.site)
        lifetime = (at.now_ns >> schema.TICK_SHIFT) - ticks_of(block.birth)
        self._spread(line, "lifetime", bucket_of(lifetime))
        self._leave(line, block)
        state = self.threads[at.thread]
        if state.last_block == address:
            line["temporary"] += 1
            state.add("temporary")
            state.last_block = 0
        self._after(-block.size, at.now_ns)
        self._count_departure(at, block)

    def resize(self, at: At, old: int, new: int, size: int, site: int) -> None:
        before = self.blocks.pop(old)
        block = Block(size, site, before.birth, usable_of(size))
        self.blocks[new] = block
        self._before(size - before.size)
        leaving, line = self._line(at.thread, before.site), self._line(at.thread, site)
        self._leave(leaving, before)
        leaving["realloc_away"] += 1
        self._arrive(line, size)
        line["realloc_in_place" if old == new else "realloc_moved"] += 1
        self._after(size - before.size, at.now_ns)
        self._count_departure(at, before)
        self._count_arrival(at, new, block)
        self.threads[at.thread].add("reallocs")

    def _line(self, thread: int, site: int) -> Line:
        """The line, its value at the last peak saved."""
        line = self.lines.setdefault((self.threads[thread].shard, site), Line())
        if line["epoch"] != self.epoch:
            line["saved_bytes"] = line["bytes_allocated"] - line["bytes_freed"]
            line["saved_blocks"] = line["allocations"] - line["frees"]
            line["epoch"] = self.epoch
        return line

    def _before(self, delta: int) -> None:
        if delta <= 0 and self.rising:
            self.rising = False
            self.epoch += 1

    def _after(self, delta: int, now_ns: int) -> None:
        self.live += delta
        if self.live > self.peak:
            self.peak, self.peak_ns, self.rising = self.live, now_ns, True

    def _arrive(self, line: Line, size: int) -> None:
        self._spread(line, "size", bucket_of(size))
        line["allocations"] += 1
        line["bytes_allocated"] += size
        line["largest"] = max(line["largest"], size)
        line["smallest_inverted"] = max(line["smallest_inverted"], size ^ (1 << 64) - 1)

    def _leave(self, line: Line, block: Block) -> None:
        line["frees"] += 1
        line["bytes_freed"] += block.size

    def _spread(self, line: Line, what: str, bucket: int) -> None:
        own, index = f"{what}_bucket", f"{what}_histogram"
        if not line[own]:
            line[own] = bucket + 1
        elif line[own] != bucket + 1:
            if not line[index]:
                self.histograms.append([0] * schema.BUCKETS)
                line[index] = len(self.histograms) - 1
            self.histograms[line[index]][bucket] += 1

    def _count_arrival(self, at: At, address: int, block: Block) -> None:
        state = self.threads[at.thread]
        state.add("allocations")
        state.add("bytes_allocated", block.size)
        state.add("usable_allocated", block.usable)
        state.last_block = address
        state.record["last_seen"] = at.now_ns

    def _count_departure(self, at: At, block: Block) -> None:
        state = self.threads[at.thread]
        state.add("frees")
        state.add("bytes_freed", block.size)
        state.add("usable_freed", block.usable)
        state.record["last_seen"] = at.now_ns

    # ---- timeline, snapshots -------------------------------------------------------------------

    def _totals(self, now_ns: int) -> dict[str, int]:
        return {
            "time": now_ns,
            "live_bytes": self.live,
            "live_blocks": len(self.blocks),
            "allocations": sum(line["allocations"] for line in self.lines.values()),
            "bytes_allocated": sum(line["bytes_allocated"] for line in self.lines.values()),
            "peak_bytes": self.peak,
            "usable_bytes": sum(block.usable for block in self.blocks.values()),
        }

    def tick(self, now_ns: int) -> None:
        self.points.append(self._totals(now_ns))

    def snapshot(self, now_ns: int) -> None:
        deltas, sites, site_before = bytearray(), 0, 0
        for site, values in sorted(self._values().items()):
            before = self.previous.get(site, [0] * 4)
            change = [new - old for new, old in zip(values, before, strict=True)]
            if any(change):
                deltas += varint(site - site_before) + b"".join(map(zigzag, change))
                site_before, sites = site, sites + 1
            self.previous[site] = values
        head = pack(schema.Snapshot, {"time": now_ns, "length": len(deltas), "sites": sites})
        totals = schema.Snapshot.FIELDS["totals"].offset
        head[totals : totals + schema.Point.SIZE] = pack(schema.Point, self._totals(now_ns))
        self.snapshots += head + deltas + bytes(-len(deltas) % 8)

    def _values(self) -> dict[int, list[int]]:
        sums: dict[int, list[int]] = {}
        for (_, site), line in self.lines.items():
            values = sums.setdefault(site, [0] * 4)
            values[0] += line["allocations"] - line["frees"]
            values[1] += line["bytes_allocated"] - line["bytes_freed"]
            values[2] += line["allocations"]
            values[3] += line["bytes_allocated"]
        return sums

    # ---- the file ------------------------------------------------------------------------------

    def writer(self, **header: int | bytes) -> Writer:
        writer = Writer()
        tables = {
            schema.KIND_MODULES: [pack(schema.Module, m) for m in self.modules],
            schema.KIND_NODES: [pack(schema.Node, n) for n in self.nodes],
            schema.KIND_SITES: [pack(schema.Site, s) for s in self.sites],
            schema.KIND_THREADS: [pack(schema.ThreadRecord, t.record) for t in self.threads],
            schema.KIND_HISTOGRAMS: [
                pack(schema.Histogram, {"bucket": h}) for h in self.histograms
            ],
        }
        for kind, records in tables.items():
            writer.add_table(kind, records)
        writer.add_extent(schema.KIND_STRINGS, self.strings, length=schema.STEP)
        self._add_counters(writer)
        self._add_ledger(writer)
        self._add_large(writer)
        points = b"".join(pack(schema.Point, point) for point in self.points)
        _add_arenas(writer, schema.KIND_TIMELINE, points, len(self.points), in_use=1)
        _add_arenas(writer, schema.KIND_SNAPSHOTS, self.snapshots, 0, in_use=0)
        writer.header |= self._header()
        writer.header |= header
        return writer

    def _header(self) -> dict[str, Value]:
        return {
            "state": schema.STATE_EXITED,
            "granule_shift": self.granule_shift,
            "strings_used": len(self.strings),
            "modules": len(self.modules),
            "nodes": len(self.nodes),
            "sites": len(self.sites),
            "threads": len(self.threads),
            "shards": 1 + max((t.shard for t in self.threads), default=-1),
            "histograms": len(self.histograms),
            "timeline_arena": 1,
            "snapshots_arena": 0,
            "peak_bytes": self.peak,
            "peak_ns": self.peak_ns,
            "peak_epoch": self.epoch,
            "peak_rising": int(self.rising),
            "live_flushed": self.live,
            "losses": self.header_losses,
        }

    def _add_counters(self, writer: Writer) -> None:
        shards = {shard for shard, _ in self.lines}
        for shard in sorted(shards, reverse=True):
            lines = [bytearray(schema.Counters.SIZE) for _ in self.sites]
            numbers = set()
            for (of, site), line in self.lines.items():
                if of == shard:
                    lines[site] = pack(schema.Counters, line.counters)
                    numbers.add(site // schema.COUNTERS_PER_EXTENT)
            writer.add_table(schema.KIND_COUNTERS, lines, owner=shard, numbers=sorted(numbers))

    def _add_ledger(self, writer: Writer) -> None:
        reach = schema.LEDGER_RECORDS << self.granule_shift
        leaves: dict[int, bytearray] = {}
        middle = self._middle()
        for address, block in self._small():
            if address in middle:
                continue
            leaf = leaves.setdefault(address // reach * reach, bytearray(schema.LEDGER_RECORDS * 8))
            at = address % reach >> self.granule_shift
            leaf[at * 8 : at * 8 + 8] = self._word(address, block).to_bytes(8, "little")
        for first, leaf in leaves.items():
            writer.add_extent(schema.KIND_LEDGER, leaf, first=first)
        self._add_middle(writer, middle)

    def _word(self, address: int, block: Block) -> int:
        half = address >> (self.granule_shift - 1) & 1
        return block.size | half << 16 | block.birth << 17 | block.site << 42

    def _middle(self) -> dict[int, Block]:
        """Half of those that may be there, and never two in a granule."""
        granules: dict[int, int] = {}
        for address, block in self._small():
            if block.size >= schema.MIDDLE_LEAST and address >> 5 & 1:
                granules[address >> schema.MIDDLE_SHIFT] = address
        return {address: self.blocks[address] for address in granules.values()}

    def _add_middle(self, writer: Writer, blocks: dict[int, Block]) -> None:
        reach = schema.MIDDLE_RECORDS << schema.MIDDLE_SHIFT
        leaves: dict[int, bytearray] = {}
        for address, block in blocks.items():
            empty = bytearray(schema.MIDDLE_RECORDS * schema.Middle.SIZE)
            leaf = leaves.setdefault(address // reach * reach, empty)
            at = (address % reach >> schema.MIDDLE_SHIFT) * schema.Middle.SIZE
            values: dict[str, Value] = {"address": address, "record": self._word(address, block)}
            leaf[at : at + schema.Middle.SIZE] = pack(schema.Middle, values)
        owner = schema.DOMAIN_HEAP + schema.LEAF_GRANULE * schema.MIDDLE_SHIFT
        for first, leaf in leaves.items():
            writer.add_extent(schema.KIND_MIDDLE, leaf, first=first, owner=owner)

    def _small(self) -> Iterator[tuple[int, Block]]:
        return ((a, b) for a, b in self.blocks.items() if b.size < 1 << 16 and a < 1 << 47)

    def _add_large(self, writer: Writer) -> None:
        small = dict(self._small())
        large = {a: b for a, b in self.blocks.items() if a not in small}
        slots = [bytearray(schema.Large.SIZE) for _ in range(LARGE_SLOTS)]
        slots[3] = pack(schema.Large, {"address": 1, "size": 99, "site": 1})  # being filled
        for at, (address, block) in enumerate(large.items()):
            values = {"address": address, "size": block.size, "site": block.site}
            slots[5 + at * 7 % (LARGE_SLOTS - 5)] = pack(
                schema.Large, values | {"birth": block.birth}
            )
        assert len(large) * 7 < LARGE_SLOTS - 5
        writer.add_extent(schema.KIND_LARGE, b"".join(slots))


def usable_of(size: int) -> int:
    """What a real allocator would set aside; any rule does."""
    return max(24, (size + 8 + 15) // 16 * 16 - 8)


def _add_arenas(
    writer: Writer, kind: int, entries: bytes | bytearray, count: int, in_use: int
) -> None:
    """The arena in use, and the other with what a reader must not look at."""
    stale = pack(schema.Arena, {"used": 1 << 40, "generation": 1})
    head = pack(schema.Arena, {"used": len(entries), "count": count, "generation": 2})
    for number in (0, 1):
        data = head + entries if number == in_use else stale
        writer.add_extent(kind, data, first=number, length=len(data) + 4096)
