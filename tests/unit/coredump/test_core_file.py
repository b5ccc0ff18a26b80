"""The ELF file that a core is, and the memory in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import soak
from heapglass.coredump.core_file import CoreFile, is_core
from heapglass.coredump.memory import CoreMemory, MissingMemory, region_at
from heapglass.errors import CoreError
from unit.coredump.core_writer import write_core

FIRST, SECOND, GAP = b"a" * 4096, b"b" * 4096, 0x9000


@pytest.fixture
def core(tmp_path: Path) -> Path:
    return write_core(
        tmp_path / "core",
        {0x2000: SECOND, 0x1000: FIRST},
        left_out={GAP: 4096},
        files=[(0x2000, 0x3000, "/lib/x.so"), (GAP, GAP + 4096, "/tmp/r.heapglass")],
        signal=11,
    )


def test_who_it_was(core: Path) -> None:
    opened = CoreFile(str(core))
    assert (opened.pid, opened.signal, opened.is_cut) == (77, 11, False)
    assert [mapping.path for mapping in opened.files] == ["/lib/x.so", "/tmp/r.heapglass"]
    assert is_core(str(core))


def test_a_signal_that_a_debugger_was_told_of_ended_nothing(tmp_path: Path) -> None:
    core = write_core(tmp_path / "core", {0x1000: FIRST}, signal=5, is_gdbs=True)
    opened = CoreFile(str(core))
    assert (opened.pid, opened.signal) == (77, 0)
    assert [thread.signal for thread in opened.threads] == [5]


def test_memory_is_read_across_mappings(core: Path) -> None:
    memory = CoreMemory(CoreFile(str(core)))
    assert memory.read(0x1FFE, 4) == b"aabb"
    assert memory.reach(0x1000) == 8192
    region = region_at(memory, 0x2001)
    assert region
    assert (region.start, region.path) == (0x2000, "/lib/x.so")


@pytest.mark.parametrize(("address", "length"), [(0, 1), (GAP, 1), (0x2FFF, 2), (0x3000, 1)])
def test_memory_that_is_not_there(core: Path, address: int, length: int) -> None:
    with pytest.raises(MissingMemory):
        CoreMemory(CoreFile(str(core))).read(address, length)


def test_a_core_cut_anywhere_is_refused_or_gives_what_is_there(core: Path) -> None:
    whole = core.read_bytes()
    for length in soak.cases(range(1, len(whole), 13), every=5):
        core.write_bytes(whole[:length])
        try:
            opened = CoreFile(str(core))
        except CoreError:
            continue
        assert opened.is_cut
        assert all(s.offset + s.dumped <= length for s in opened.segments if s.dumped)


def test_any_byte_of_the_headers_may_be_wrong(core: Path) -> None:
    whole = bytearray(core.read_bytes())
    headers = whole.index(FIRST)
    changes = [(at, value) for at in range(headers) for value in (0, 1, 0x7F, 0xFF)]
    for at, value in soak.cases(changes, every=7):
        changed = whole[:]
        changed[at] = value
        core.write_bytes(changed)
        try:
            memory = CoreMemory(CoreFile(str(core)))
            memory.read(0x1000, 16)
        except (CoreError, MissingMemory):
            continue
        assert memory.regions


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"text", b"\x7fELF\x01\x01", b"\x7fELF\x02\x01" + b"\0" * 100]
)
def test_what_is_no_core(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    assert not is_core(str(path))
    with pytest.raises(CoreError):
        CoreFile(str(path))
