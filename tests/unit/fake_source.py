"""A heap made up in memory: a HeapSource and its names, built site by site for the tests."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from heapglass.analysis.counters import ESTIMATED, SPREADS
from heapglass.model import (
    BlockTable,
    Frame,
    FrameAddress,
    GreatestRss,
    Histogram,
    HistoryFill,
    LiveUnit,
    Loss,
    Losses,
    LossKind,
    Mark,
    ModeChange,
    Module,
    Process,
    ProcessState,
    Recorder,
    RecordingPlace,
    SiteTable,
    Snapshot,
    SnapshotErrors,
    Stack,
    TableFill,
    Thread,
    ThreadWork,
    Timeline,
    Totals,
    Workings,
)
from heapglass.recording import schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from heapglass.model import Pseudo

_S = 10**9
STATS = dict.fromkeys(schema.STATS, 0) | {"walks": 10, "frames": 32, "rule_misses": 4}
PLACE = RecordingPlace(
    length_bytes=20 << 20,
    used_bytes=20 << 20,
    stored_bytes=2 << 20,
    capacity_bytes=64 << 30,
    file_system="ext4",
    free_bytes=70 << 30,
)
SAMPLE_BYTES = 512 << 10


@dataclass(frozen=True, slots=True)
class FakeSite:
    """Counters of one site in one shard; what is not given follows from the rest."""

    frames: tuple[Frame, ...]
    allocations: int = 0
    frees: int = 0
    bytes_allocated: int = 0
    bytes_freed: int = 0
    peak_blocks: int = 0
    peak_bytes: int = 0
    temporary: int = 0
    samples: int = 0
    frees_samples: bool = False  # of others; without samples of its own
    shard: int = 0
    cut: Pseudo | None = None

    def row(self, site: int) -> dict[str, int]:
        names = ("allocations", "frees", "bytes_allocated", "bytes_freed", "peak_blocks")
        row = {name: getattr(self, name) for name in (*names, "peak_bytes", "temporary")}
        row["live_blocks"] = self.allocations - self.frees
        row["live_bytes"] = self.bytes_allocated - self.bytes_freed
        if self.samples or self.frees_samples:
            row |= {"samples": self.samples, "sample_bytes": SAMPLE_BYTES}
            for name in ESTIMATED:
                row[f"{name}_error"] = row.get(name, 0) // 10
        return {"id": site, **row}


@dataclass(frozen=True, slots=True)
class FakeBlocks:
    """Live blocks of one size of one site, one for each birth."""

    site: int
    size: int
    births_ns: Sequence[int]


def snapshot(time_ns: int, rows: Sequence[tuple[int, int, int, int, int]]) -> Snapshot:
    """Rows of site, live blocks, live bytes, allocations and bytes allocated, by rising sites."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Snapshot(time_ns, *columns)


def estimated(exact: Snapshot) -> Snapshot:
    """The same, each number off by a tenth."""
    columns = (exact.live_blocks, exact.live_bytes, exact.allocations, exact.bytes_allocated)
    return replace(exact, errors=SnapshotErrors(*(column / 10 for column in columns)))


def frame(
    function: str,
    file: str = "",
    line: int = 0,
    module: str = "/usr/bin/app",
    *,
    inlined: bool = False,
) -> Frame:
    address = 0x1000 + crc32(f"{function} {file} {line} {module}".encode())
    return Frame(function, file, line, module, address, address - 0x1000, inlined)


def site_table(rows: Sequence[Mapping[str, int]]) -> SiteTable:
    columns: dict[str, Any] = {}
    for column in fields(SiteTable):
        dtype = np.float64 if column.name.rpartition("_")[2] in SPREADS else np.int64
        columns[column.name] = np.array([row.get(column.name, 0) for row in rows], dtype=dtype)
    return SiteTable(**columns)


@dataclass
class FakeSource:
    """Sites get the ids 2, 3, ... in the order given; sites with equal frames share one id."""

    made_of: Sequence[FakeSite] = ()
    annotations: Sequence[FakeSite] = ()
    named_moments: Sequence[Mark] = ()
    unwritten_outputs: int = 0
    dropped_modules: int = 0
    dropped_marks: int = 0
    usable_peak_error_bytes: int = 0
    state: ProcessState = ProcessState.EXITED
    exit_status: int | None = 0
    exit_signal: int | None = None
    argv: tuple[str, ...] = ("app", "--input", "data file.txt")
    loss_items: Mapping[LossKind, int] = field(default_factory=dict)
    ladder: tuple[str, str, int] = ("recording", "", 0)
    peak_error_bytes: int = 0
    peak_bytes: int | None = None  # None: what the sites add up to
    thread_names: Sequence[tuple[str, int]] = (("app", 0),)
    sizes: Mapping[int, int] = field(default_factory=dict)
    lifetimes: Mapping[int, int] = field(default_factory=dict)
    mode: str = "exact"
    stats: Mapping[str, int] = field(default_factory=lambda: dict(STATS))
    place: RecordingPlace = PLACE
    memory_budget: int = 0
    is_reserved_up_front: bool = False
    live_unit: LiveUnit = LiveUnit.REQUESTED
    changes: tuple[ModeChange, ...] = ()
    change_count: int = 0  # 0: as many as there are
    paused_ns: int = 0
    budget: float = 0.0
    is_forked: bool = False
    stack_calls: list[int] = field(default_factory=list)
    greatest_rss: GreatestRss | None = None
    name: str = "app.hg"
    notes: Sequence[str] = ()
    live: Sequence[FakeBlocks] = ()
    points: Sequence[tuple[int, int]] = ()  # of the timeline: time in ns, live bytes
    history: Sequence[Snapshot] = ()

    def __post_init__(self) -> None:
        self._ids: dict[tuple[object, ...], int] = {}
        for made in (*self.made_of, *self.annotations):
            self._ids.setdefault((made.frames, made.cut), len(self._ids) + 2)

    def _id(self, made: FakeSite) -> int:
        return self._ids[(made.frames, made.cut)]

    @property
    def process(self) -> Process:
        return Process(
            pid=4242,
            parent_pid=1,
            uid=1000,
            executable="/usr/bin/app",
            argv=self.argv,
            working_directory="/home/user",
            host="box",
            state=self.state,
            exit_status=self.exit_status,
            exit_signal=self.exit_signal,
            started_wall_ns=1_700_000_000 * _S,
            duration_ns=3_400_000_000,
            is_forked=self.is_forked,
            session=7,
            greatest_rss=self.greatest_rss,
        )

    @property
    def totals(self) -> Totals:
        table = self.sites()
        live = int(table.live_bytes.sum())
        return Totals(
            allocations=int(table.allocations.sum()),
            frees=int(table.frees.sum()),
            bytes_allocated=int(table.bytes_allocated.sum()),
            bytes_freed=int(table.bytes_freed.sum()),
            live_blocks=int(table.live_blocks.sum()),
            live_bytes=live,
            peak_bytes=int(table.peak_bytes.sum()) if self.peak_bytes is None else self.peak_bytes,
            peak_time_ns=2_100_000_000,
            temporary=int(table.temporary.sum()),
            reallocs=12 if len(table) else 0,
            usable_live_bytes=live + 1000 if live else 0,
            live_unit=self.live_unit,
            usable_peak_bytes=int(table.peak_bytes.sum()) + 2000,
        )

    @property
    def losses(self) -> Losses:
        items = tuple(Loss(kind, events) for kind, events in self.loss_items.items())
        return Losses(
            items,
            *self.ladder,
            peak_error_bytes=self.peak_error_bytes,
            unwritten_outputs=self.unwritten_outputs,
            dropped_modules=self.dropped_modules,
            dropped_marks=self.dropped_marks,
            usable_peak_error_bytes=self.usable_peak_error_bytes,
        )

    @property
    def recorder(self) -> Recorder:
        return Recorder(
            mode=self.mode,
            sample_bytes=0 if self.mode == "exact" else SAMPLE_BYTES,
            format_version=1,
            depth_limit=256,
            granule_bytes=32,
            snapshot_interval_ns=_S,
            snapshot_churn_bytes=0,
            allocator="libc.so.6",
            memory_bytes=3 << 20,
            file_bytes=2 << 20,
            private_bytes=1 << 20,
            stats=dict(self.stats),
            changes=self.changes,
            change_count=self.change_count or len(self.changes),
            paused_ns=self.paused_ns,
            budget=self.budget,
        )

    @property
    def workings(self) -> Workings:
        return Workings(
            threads=tuple(self._thread_work()),
            tables=(
                TableFill("ledger", 1_234, 32_768, 1, 128 << 10),
                TableFill("counters", None, 512, 1, 64 << 10),
                TableFill("large blocks", 0, 0, 0, 0),
            ),
            timeline=HistoryFill(340, 21_760, 262_080, 0),
            snapshots=HistoryFill(3, 4_096, 8_388_544, 1),
            place=self.place,
            memory_budget=self.memory_budget,
            options=("HEAPGLASS_OUT=app.hg",),
            is_multi_threaded=len(self.thread_names) > 1,
            is_reserved_up_front=self.is_reserved_up_front,
            site_limit=1 << 22,
        )

    def _thread_work(self) -> Iterator[ThreadWork]:
        """The first thread did it all."""
        totals = self.totals
        for number, (name, _) in enumerate(self.thread_names):
            is_first = number == 0
            yield ThreadWork(
                tid=4242 + number,
                name=name,
                allocations=totals.allocations if is_first else 0,
                frees=totals.frees if is_first else 0,
                stats=self.stats if is_first else dict.fromkeys(self.stats, 0),
                losses={kind.value: events for kind, events in self.loss_items.items()}
                if is_first
                else {},
            )

    @property
    def modules(self) -> Sequence[Module]:
        main = Module(
            index=0,
            path="/usr/bin/app",
            start=0x1000,
            end=0x9000,
            bias=0x1000,
            build_id="ab12",
            file_size=100,
            file_mtime_ns=1,
            is_main=True,
            is_vdso=False,
        )
        return (main,)

    @property
    def threads(self) -> Sequence[Thread]:
        return tuple(
            Thread(4242 + number, name, shard, number, number + 1, 1, 1, 1, 1, 0, 0)
            for number, (name, shard) in enumerate(self.thread_names)
        )

    def sites(self) -> SiteTable:
        merged: dict[int, dict[str, int]] = {}
        for made in self.made_of:
            row = made.row(self._id(made))
            known = merged.setdefault(row["id"], {})
            merged[row["id"]] = {
                name: value if name == "id" else known.get(name, 0) + value
                for name, value in row.items()
            }
        return site_table(list(merged.values()))

    def annotated(self) -> SiteTable:
        return site_table([made.row(self._id(made)) for made in self.annotations])

    def marks(self) -> Sequence[Mark]:
        return self.named_moments

    def sites_by_shard(self) -> Mapping[int, SiteTable]:
        shards = sorted({made.shard for made in self.made_of})
        return {
            shard: site_table([m.row(self._id(m)) for m in self.made_of if m.shard == shard])
            for shard in shards
        }

    def cuts(self) -> Mapping[int, Pseudo]:
        return {self._id(made): made.cut for made in self.made_of if made.cut is not None}

    def stack(self, site: int) -> Stack:
        self.stack_calls.append(site)
        made = next(made for made in self.made_of if self._id(made) == site)
        addresses = [FrameAddress(f.address, 0) for f in made.frames if not f.is_inlined]
        return Stack(tuple(addresses), made.cut)

    def size_histogram(self, site: int | None = None) -> Histogram:
        assert site is None
        return Histogram(_buckets(self.sizes), 1)

    def lifetime_histogram(self, site: int | None = None) -> Histogram:
        assert site is None
        return Histogram(_buckets(self.lifetimes), 2**20)

    def blocks(self) -> BlockTable:
        rows = [(one, birth) for one in self.live for birth in one.births_ns]
        return BlockTable(
            address=np.arange(0x10000, 0x10000 + 16 * len(rows), 16, dtype=np.uint64),
            size=np.array([one.size for one, _ in rows], dtype=np.int64),
            site=np.array([one.site for one, _ in rows], dtype=np.int64),
            birth_ns=np.array([birth for _, birth in rows], dtype=np.int64),
            sample_bytes=np.zeros(len(rows), dtype=np.int64),
        )

    def timeline(self) -> Timeline:
        """Everything but the live bytes follows from these."""
        columns = np.array(self.points, dtype=np.int64).reshape(-1, 2)
        live = columns[:, 1]
        allocated = np.cumsum(np.maximum(np.diff(live, prepend=0), 0))
        peak = np.maximum.accumulate(live) if len(live) else live
        return Timeline(columns[:, 0], live, live // 32, allocated // 32, allocated, peak, live + 8)

    def snapshots(self) -> Iterator[Snapshot]:
        yield from self.history


class FakeNames:
    """Names the frames of a FakeSource; `asked` keeps every batch of addresses it was given."""

    def __init__(self, source: FakeSource, warnings: Sequence[str] = ()) -> None:
        self.warnings = list(warnings)
        self.asked: list[list[FrameAddress]] = []
        self._frames: dict[FrameAddress, tuple[Frame, ...]] = {}
        for made in source.made_of:
            inlined: tuple[Frame, ...] = ()
            for one in made.frames:
                inlined = (*inlined, one)
                if not one.is_inlined:
                    self._frames[FrameAddress(one.address, 0)] = inlined
                    inlined = ()

    def resolve(self, addresses: Iterable[FrameAddress]) -> dict[FrameAddress, tuple[Frame, ...]]:
        self.asked.append(list(addresses))
        return {address: self._frames[address] for address in self.asked[-1]}


def _buckets(counts: Mapping[int, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    buckets = np.zeros(48, dtype=np.int64)
    for bucket, count in counts.items():
        buckets[bucket] = count
    return buckets
