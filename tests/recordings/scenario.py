"""A made-up program run: threads, modules that come and go, blocks; told to recorder and oracle."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from recordings.oracle import At, Oracle
from recordings.slow_recorder import SlowRecorder, usable_of

if TYPE_CHECKING:
    from recordings.oracle import Stack

MAIN = 0
LIBC = 1
_PLUGIN = (0x7F0000200000, 0x7F0000210000)
_NO_MODULE = 0x7F1111110000
_MS = 1 << 20


@dataclass
class Moment:
    """What is true at the time of a point or a snapshot."""

    time_ns: int
    live_bytes: int
    live_blocks: int
    allocations: int
    bytes_allocated: int
    peak_bytes: int
    usable_bytes: int
    sites: dict[Stack, dict[str, int]]


@dataclass
class Scenario:
    """`shards` of the threads, by their number; several threads may share one."""

    seed: int
    shards: tuple[int, ...] = (0, 1, 2, 0)
    recorder: SlowRecorder = field(default_factory=SlowRecorder)
    oracle: Oracle = field(default_factory=Oracle)
    points: list[Moment] = field(default_factory=list)
    snapshots: list[Moment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)  # noqa: S311 (repeatable is what it must be)
        self.now = 0
        self.recorder.load(
            0x400000,
            0x500000,
            b"/usr/bin/app",
            bias=0x400000,
            flags=1,
            build_id=bytes(range(20)),
            build_id_length=20,
            file_size=1234,
            file_mtime_ns=10**18,
        )
        self.recorder.load(0x7F0000000000, 0x7F0000100000, b"/lib/libc.so.6", bias=0x7F0000000000)
        self.plugin = self.recorder.load(*_PLUGIN, b"/lib/plugin-0.so")
        for number, shard in enumerate(self.shards):
            self.recorder.thread(1000 + number, b"worker-%d" % number, number, shard)

    def run(self, events: int) -> Scenario:
        for _ in range(events):
            self.now += self.random.choice([0, 1000, 3 * _MS, 90 * _MS, 2000 * _MS])
            self.random.choice(
                [self._allocate, self._allocate, self._free, self._resize, self._other]
            )()
        return self

    def _other(self) -> None:
        self.random.choice([self._reload, self._point, self._snapshot])()

    def _stack(self) -> tuple[Stack, int]:
        """A stack as it is, and the site the recorder has for it."""
        addresses = [
            (0x400000 + 16 * self.random.randrange(2), MAIN),
            (0x7F0000000010, LIBC),
            (_PLUGIN[0] + 16, self.plugin),
            (_NO_MODULE, -1),
        ]
        frames = tuple(self.random.choices(addresses, k=self.random.randrange(1, 4)))
        cut = self.random.choice([0, 0, 0, 1, 2])
        is_race = self.random.random() < 0.1
        site = self.recorder.site([a for a, _ in frames], cut, self.now, is_race=is_race)
        return (frames, cut), site

    def _size(self) -> int:
        return self.random.choice([0, 1, 24, 25, 4000, 65535, 65536, 1 << 20])

    def _address(self, size: int) -> int:
        taken = {address >> 5 for address in self.oracle.live}
        while True:
            base = self.random.choice([0x1000000, 0x7F5500000000, (1 << 47) + 4096])
            address = base + self.random.randrange(1 << 16) * 32 + 16 * (size % 2)
            if address >> 5 not in taken:
                return address

    def _at(self) -> At:
        return At(self.random.randrange(len(self.shards)), self.now)

    def _allocate(self) -> None:
        stack, site = self._stack()
        at, size = self._at(), self._size()
        address = self._address(size)
        self.recorder.allocate(at, address, size, site)
        self.oracle.allocate(at, address, size, stack)

    def _free(self) -> None:
        if self.oracle.live:
            # The newest now and then, or nothing would ever be temporary.
            live = list(self.oracle.live)
            address = self.random.choice([live[-1], self.random.choice(live)])
            at = self._at()
            self.recorder.free(at, address)
            self.oracle.free(at, address)

    def _resize(self) -> None:
        if self.oracle.live:
            old = self.random.choice(list(self.oracle.live))
            (stack, site), size, at = self._stack(), self._size(), self._at()
            new = self.random.choice([old, self._address(size)])
            self.recorder.resize(at, old, new, size, site)
            self.oracle.resize(at, old, new, size, stack)

    def _reload(self) -> None:
        self.recorder.unload(self.plugin)
        path = b"/lib/plugin-%d.so" % len(self.recorder.modules)
        self.plugin = self.recorder.load(*_PLUGIN, path)

    def _point(self) -> None:
        self.recorder.tick(self.now)
        self.points.append(self._moment())

    def _snapshot(self) -> None:
        self.recorder.snapshot(self.now)
        self.snapshots.append(self._moment())

    def _moment(self) -> Moment:
        came = [event for event in self.oracle.events if event.sign > 0]
        live = self.oracle.live.values()
        return Moment(
            time_ns=self.now,
            live_bytes=sum(block.size for block in live),
            live_blocks=len(live),
            allocations=len(came),
            bytes_allocated=sum(event.size for event in came),
            peak_bytes=self.oracle.peak,
            usable_bytes=sum(usable_of(block.size) for block in live),
            sites=self.oracle.sites(),
        )
