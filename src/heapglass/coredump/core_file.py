"""The ELF file that a core is: which memory is in it, which files were mapped, who it was.

Mapped, not read: a core is as large as its process was. What its headers claim is checked against
the file's length; one that was cut short (a full disk, RLIMIT_CORE) gives what is there.
"""

from __future__ import annotations

import mmap
import os
import stat
from dataclasses import dataclass
from struct import Struct, error

from heapglass.errors import CoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_ET_CORE = 4
_EM_X86_64 = 62
_PT_LOAD, _PT_NOTE = 1, 4
_PF_W = 2
_NT_PRSTATUS, _NT_PRPSINFO, _NT_FILE = 1, 3, 0x46494C45
_MANY = 0xFFFF  # the real number of segments is in the first section header

_ELF_HEADER = Struct("<16xHHIQQQIHHHHHH")
_SEGMENT = Struct("<IIQQQQQQ")
_NOTE = Struct("<III")
_PRSTATUS = Struct("<12xH18xI")  # pr_cursig, pr_pid
_PRPSINFO = Struct("<24xI")  # pr_pid
_FILE_HEAD = Struct("<QQ")
_FILE_ENTRY = Struct("<QQQ")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the process's memory; the first `dumped` bytes of it are in the core."""

    start: int
    end: int
    offset: int
    dumped: int
    is_writable: bool


@dataclass(frozen=True, slots=True)
class FileMapping:
    start: int
    end: int
    offset: int  # in the file, in bytes
    path: str


@dataclass(frozen=True, slots=True)
class CoreThread:
    tid: int
    signal: int  # that it was stopped or ended by, 0 if none


class CoreFile:
    """An open core."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.data, self.status = _map(path)
        self.segments: tuple[Segment, ...] = ()
        self.files: tuple[FileMapping, ...] = ()
        self.threads: tuple[CoreThread, ...] = ()
        self.pid = 0
        self.is_cut = False
        self._is_kernels = False
        try:
            self._read_headers()
        except (error, IndexError, OverflowError):
            raise CoreError(f"{path} is damaged: its headers lead outside the file") from None

    @property
    def signal(self) -> int:
        """What ended the process; 0 when nothing did: someone took the core of a live one. In a
        core of gdb's is what stopped the process, SIGTRAP at a breakpoint, but it may go on."""
        return self.threads[0].signal if self._is_kernels else 0

    def close(self) -> None:
        self.data.close()

    def _read_headers(self) -> None:
        kind, machine, _, _, program, section, *_, entry_size, entries, _, _, _ = (
            _ELF_HEADER.unpack_from(self.data)
        )
        if kind != _ET_CORE:
            raise CoreError(f"{self.path} is an ELF file, but not a core")
        if machine != _EM_X86_64 or entry_size != _SEGMENT.size:
            raise CoreError(f"{self.path} is a core of another architecture than x86-64")
        if entries == _MANY:
            entries = int.from_bytes(self.data[section + 44 : section + 48], "little")
        headers = [
            _SEGMENT.unpack_from(self.data, program + i * entry_size) for i in range(entries)
        ]
        loads = (self._segment(header) for header in headers if header[0] == _PT_LOAD)
        self.segments = tuple(sorted(loads, key=lambda segment: segment.start))
        for header in headers:
            if header[0] == _PT_NOTE:
                self._read_notes(header[2], header[5])

    def _segment(self, header: tuple[int, ...]) -> Segment:
        _, flags, offset, start, _, in_file, in_memory, _ = header
        dumped = min(in_file, in_memory)
        there = max(0, min(dumped, len(self.data) - offset))
        self.is_cut |= there < dumped
        return Segment(start, start + in_memory, offset, there, bool(flags & _PF_W))

    def _read_notes(self, offset: int, size: int) -> None:
        threads = list(self.threads)
        for kind, data in self._notes(offset, min(offset + size, len(self.data))):
            if kind == _NT_PRSTATUS:
                # The kernel begins with the thread that ended the process, all others with
                # NT_PRPSINFO.
                self._is_kernels |= not threads and not self.pid
                signal, tid = _PRSTATUS.unpack_from(data)
                threads.append(CoreThread(tid, signal))
            elif kind == _NT_PRPSINFO:
                (self.pid,) = _PRPSINFO.unpack_from(data)
            elif kind == _NT_FILE:
                self.files = tuple(_files(data))
        self.threads = tuple(threads)
        self.pid = self.pid or (threads[0].tid if threads else 0)

    def _notes(self, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        while at + _NOTE.size <= end:
            name_size, size, kind = _NOTE.unpack_from(self.data, at)
            at += _NOTE.size + _padded(name_size)
            yield kind, self.data[at : at + size]
            at += _padded(size)


def is_core(path: str) -> bool:
    """Whether the file says of itself that it is a core; never raises."""
    try:
        with open(path, "rb", opener=_open_quietly) as file:
            head = file.read(18)
    except (OSError, ValueError):
        return False
    return head[:4] == _MAGIC[:4] and head[16:18] == _ET_CORE.to_bytes(2, "little")


def _open_quietly(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not make us wait


def _map(path: str) -> tuple[mmap.mmap, os.stat_result]:
    try:
        with open(path, "rb", opener=_open_quietly) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or file.read(len(_MAGIC)) != _MAGIC:
                raise CoreError(f"{path} is not a core")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), status
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise CoreError(f"{path} cannot be opened: {reason}") from None


def _padded(size: int) -> int:
    return (size + 3) & ~3


def _files(data: bytes) -> Iterator[FileMapping]:
    """The note holds all ranges first and then all names."""
    count, page = _FILE_HEAD.unpack_from(data)
    names = data[_FILE_HEAD.size + count * _FILE_ENTRY.size :].split(b"\0")
    for index in range(count):
        start, end, offset = _FILE_ENTRY.unpack_from(data, _FILE_HEAD.size + index * 24)
        yield FileMapping(start, end, offset * page, os.fsdecode(names[index]))
