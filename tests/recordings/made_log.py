"""A made-up program run, written down as a text log and told to the oracle."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from recordings.oracle import At, Oracle

if TYPE_CHECKING:
    from recordings.oracle import Stack

PID = 4000
APP = (0x400000, 0x500000)
LIBRARY = (0x7F0000000000, 0x7F0000100000)
HEADER = (
    f"# PID {PID}\n# EXE /no/such/app\n# CWD /home/me\n# MAPS\n"
    f"{APP[0]:x}-{APP[1]:x} r-xp 00000000 fe:01 11 /no/such/app\n"
    f"{LIBRARY[0]:x}-{LIBRARY[1]:x} r-xp 00000000 fe:01 12 /no/such/library.so\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\n\n"
    f"+ INIT 0 0x0 {PID} {PID} 1\n-\n"
)
_CALLS = "malloc calloc memalign posix_memalign valloc pvalloc aligned_alloc realloc-alloc".split()
_MS = 1 << 20


class MadeLog:
    """`threads` of them write from buffers of up to `buffered` entries."""

    def __init__(self, seed: int, threads: int = 3, buffered: int = 7) -> None:
        self.random = Random(seed)  # noqa: S311 (repeatable is what it must be)
        self.oracle = Oracle()
        self.double_frees = self.unknown_frees = self.failed = 0
        self._buffers: list[list[str]] = [[] for _ in range(threads)]
        self._buffered = buffered
        self._parts = [HEADER]
        self._number = 1
        self._now = 0
        self._freed: list[int] = []

    def run(self, steps: int) -> MadeLog:
        for _ in range(steps):
            if self.random.random() < 0.2:
                self._now += self.random.choice([1, 90, 2000]) * _MS
                self._parts.append(f"# TIME {self._now} {self._number + 1} {PID}\n")
            self.random.choice(
                [self._allocate] * 4 + [self._free] * 3 + [self._resize] * 2 + [self._err]
            )()
        return self

    def text(self) -> bytes:
        for buffer in self._buffers:
            self._parts += buffer
            buffer.clear()
        end = f"+ FINI 0 0x0 {PID} {PID} {self._next()}\n-\n"
        return "".join([*self._parts, end]).encode()

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _at(self) -> At:
        return At(self.random.randrange(len(self._buffers)), self._now)

    def _stack(self) -> tuple[Stack, str]:
        known = [(APP[0] + 0x10, 0), (APP[0] + 0x20, 0), (LIBRARY[0] + 0x10, 1), (0x600000, -1)]
        frames = tuple(self.random.choices(known, k=self.random.randrange(4)))
        return (frames, 0), "".join(f"{address:#x}\n" for address, _ in frames)

    def _address(self) -> int:
        # A thread's last block, freed and made again by others, would still look like its last.
        taken = {*self.oracle.live, *self.oracle._last.values()}
        while True:
            address = 0x55D000000000 + 16 * self.random.randrange(200)
            if address not in taken:
                return address

    def _write(self, at: At, start: str, rest: str, frames: str) -> None:
        tid = PID + at.thread
        buffer = self._buffers[at.thread]
        buffer.append(f"+ {start} {PID} {tid} {rest}\n{frames}-\n")
        if len(buffer) >= self.random.randrange(1, self._buffered + 1):
            self._parts += buffer
            buffer.clear()

    def _allocate(self) -> None:
        at, (stack, frames), address = self._at(), self._stack(), self._address()
        size = self.random.choice([0, 1, 24, 4000, 65536, 1 << 33])
        call = self.random.choice(_CALLS)
        self._write(at, f"{call} {size} {address:#x}", f"{self._next()}", frames)
        self.oracle.allocate(at, address, size, stack)
        self._freed = [other for other in self._freed if other != address]

    def _free(self) -> None:
        if not self.oracle.live:
            return
        live = list(self.oracle.live)
        address = self.random.choice([live[-1], self.random.choice(live)])
        at, call = self._at(), self.random.choice(["free", "free", "realloc-free"])
        self._write(at, f"{call} 7 {address:#x}", f"{self._next()}", self._stack()[1])
        self.oracle.free(at, address)
        self._freed.append(address)

    def _resize(self) -> None:
        # A block that is the last one of another thread would be the last one of both.
        at, (stack, frames) = self._at(), self._stack()
        others = {block for thread, block in self.oracle._last.items() if thread != at.thread}
        live = [address for address in self.oracle.live if address not in others]
        if not live:
            return
        old, size = self.random.choice(live), self.random.choice([8, 70000])
        new = self.random.choice([old, self._address()])
        if new == old:
            self._write(at, f"realloc-inplace {size} {new:#x}", f"{self._next()}", frames)
        else:
            left = self._next()
            rest = f"{self._next()} {old:#x} {left}"
            self._write(at, f"realloc-realloc {size} {new:#x}", rest, frames)
            self._freed = [other for other in self._freed if other != new] + [old]
        self.oracle.resize(at, old, new, size, stack)

    def _err(self) -> None:
        what = self.random.randrange(3)
        at, frames = self._at(), self._stack()[1]
        if what == 0 and self._freed:
            address = self.random.choice(self._freed)
            self._write(at, f"free 0 {address:#x}", f"{self._next()}", frames)
            self.double_frees += 1
        elif what == 1:
            address = 0x7E0000000000 + 16 * self._number
            self._write(at, f"free 0 {address:#x}", f"{self._next()}", frames)
            self.unknown_frees += 1
        else:
            self._write(at, "malloc 1099511627776 0x0", f"{self._next()}", frames)
            self._write(at, "free 0 0x0", f"{self._next()}", frames)
            self.failed += 1
