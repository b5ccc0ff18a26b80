"""Damaged files: every answer is right or a RecordingError, soon, and in little memory."""

from __future__ import annotations

import contextlib
import os
import tracemalloc
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import soak
from heapglass.errors import RecordingError
from heapglass.recording import open_recording, schema
from heapglass.recording.file.writer import put
from heapglass.recording.glance import glance
from recordings.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from heapglass.recording.layout import Layout
    from heapglass.recording.reader import Recording

_EXTREMES = (0, 1, 3, 4095, 65535, 65536, 2**31 - 1, 2**32 - 1, 2**48, 2**63 - 1, 2**63, 2**64 - 1)

# Whatever the file says, no answer may need more than this.
_MOST_BYTES = 100 << 20

fuzz = settings(
    max_examples=soak.amount(150, 30),
    deadline=20000,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@cache
def _whole() -> bytes:
    """A recording with something of everything. Its process is long gone."""
    recorder = Scenario(seed=7).run(100).recorder
    recorder.threads[0].record["losses"] = [3] * schema.LOSS_SLOTS
    return bytes(recorder.writer(command_line=b"app\0x\0", command_line_length=6).image())


_ANSWERS: dict[str, Callable[[Recording], object]] = {
    "process": lambda r: r.process,
    "totals": lambda r: r.totals,
    "losses": lambda r: r.losses,
    "recorder": lambda r: r.recorder,
    "workings": lambda r: r.workings,
    "modules": lambda r: r.modules,
    "threads": lambda r: r.threads,
    "sites": lambda r: r.sites(),
    "sites_by_shard": lambda r: r.sites_by_shard(),
    "stack": lambda r: r.stack(1),
    "stacks": lambda r: [r.stack(int(site)) for site in r.sites().id[:50]],
    "sizes": lambda r: r.size_histogram(),
    "sizes of a site": lambda r: r.size_histogram(2),
    "lifetimes": lambda r: r.lifetime_histogram(),
    "blocks": lambda r: r.blocks(),
    "timeline": lambda r: r.timeline(),
    "snapshots": lambda r: list(r.snapshots()),
}


def _ask_all(path: Path) -> set[str]:
    """Ask everything; what was answered. RecordingErrors must be sentences that name the file."""
    answered = set()
    with _refusals_of(path):
        glance(path)
    with _refusals_of(path), open_recording(path) as recording:
        for name, ask in _ANSWERS.items():
            with _refusals_of(path):
                ask(recording)
                answered.add(name)
    return answered


@contextlib.contextmanager
def _refusals_of(path: Path):  # type: ignore[no-untyped-def]  # noqa: ANN202
    try:
        yield
    except RecordingError as error:
        message = str(error)
        assert message.startswith(str(path))
        assert "\n" not in message


def test_the_whole_file_answers_everything(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(_whole())
    assert _ask_all(path) == set(_ANSWERS)


def _mutations(layout: type[Layout]) -> Sequence[tuple[str, int]]:
    mutations: list[tuple[str, int]] = []
    for name, field in layout.FIELDS.items():
        bits = {"B": 8, "H": 16, "I": 32}.get(field.code, 64)
        values = {value & (1 << bits) - 1 for value in _EXTREMES}
        if field.size:
            mutations += [(name, value) for value in sorted(values)]
    return soak.cases(mutations, every=7)


def _with(image: bytearray, layout: type[Layout], base: int, change: tuple[str, int]) -> bytes:
    name, value = change
    if layout.FIELDS[name].code == "q":
        value -= (value >> 63) << 64
    put(image, layout, name, value, base)
    return bytes(image)


def test_every_header_field(tmp_path: Path) -> None:
    path = tmp_path / "x"
    unread = 0
    changes = _mutations(schema.Header)
    for change in changes:
        path.write_bytes(_with(bytearray(_whole()), schema.Header, 0, change))
        unread += not _ask_all(path)
    assert unread > len(changes) / 20, "nothing was ever refused"


def _entries() -> list[tuple[int, schema.Extent]]:
    """Where in the file each directory entry is, and the entry."""
    block = schema.Directory(_whole(), schema.PAGE)
    start = schema.PAGE + schema.Directory.SIZE
    places = range(start, start + block.count * schema.Extent.SIZE, schema.Extent.SIZE)
    return [(at, schema.Extent(_whole(), at)) for at in places]


_LAYOUTS: dict[int, type[Layout]] = {
    schema.KIND_MODULES: schema.Module,
    schema.KIND_NODES: schema.Node,
    schema.KIND_SITES: schema.Site,
    schema.KIND_THREADS: schema.ThreadRecord,
    schema.KIND_COUNTERS: schema.Counters,
    schema.KIND_HISTOGRAMS: schema.Histogram,
    schema.KIND_LARGE: schema.Large,
    schema.KIND_TIMELINE: schema.Arena,
    schema.KIND_SNAPSHOTS: schema.Arena,
}


@pytest.mark.parametrize("kind", range(1, schema.KIND_SNAPSHOTS + 1))
def test_every_directory_field(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "x"
    for at, entry in _entries():
        if entry.kind == kind:
            for change in _mutations(schema.Extent):
                path.write_bytes(_with(bytearray(_whole()), schema.Extent, at, change))
                _ask_all(path)
            break
    for change in _mutations(schema.Directory) if kind == schema.KIND_DIRECTORY else []:
        path.write_bytes(_with(bytearray(_whole()), schema.Directory, schema.PAGE, change))
        _ask_all(path)


@pytest.mark.parametrize("kind", _LAYOUTS)
def test_every_record_field(tmp_path: Path, kind: int) -> None:
    """The second record that is in use, of each table."""
    path, layout = tmp_path / "x", _LAYOUTS[kind]
    base = next(
        e.offset + n * layout.SIZE
        for _, e in _entries()
        for n in range(1, e.length // layout.SIZE)
        if e.kind == kind and (layout is schema.Arena or any(_record(e, n, layout)))
    )
    if layout is schema.Arena:
        base = next(e.offset for _, e in _entries() if e.kind == kind and e.first == _in_use(kind))
    for change in _mutations(layout):
        path.write_bytes(_with(bytearray(_whole()), layout, base, change))
        _ask_all(path)


def _record(extent: schema.Extent, number: int, layout: type[Layout]) -> bytes:
    start = extent.offset + number * layout.SIZE
    return _whole()[start : start + layout.SIZE]


def _in_use(kind: int) -> int:
    header = schema.Header(_whole())
    is_timeline = kind == schema.KIND_TIMELINE
    return header.timeline_arena if is_timeline else header.snapshots_arena


def _arena(kind: int) -> int:
    return next(e.offset for _, e in _entries() if e.kind == kind and e.first == _in_use(kind))


@pytest.mark.parametrize("layout", [schema.Snapshot, schema.Point])
def test_every_field_of_an_entry(tmp_path: Path, layout: type[Layout]) -> None:
    is_point = layout is schema.Point
    base = _arena(schema.KIND_TIMELINE if is_point else schema.KIND_SNAPSHOTS) + schema.Arena.SIZE
    path = tmp_path / "x"
    for name, value in _mutations(layout):
        if name != "totals":
            path.write_bytes(_with(bytearray(_whole()), layout, base, (name, value)))
            _ask_all(path)


@cache
def _busy_words() -> list[int]:
    """Offsets of 8-byte words that are not zero: where damage does most."""
    whole = _whole()
    return [at for at in range(0, len(whole), 8) if whole[at : at + 8] != bytes(8)]


@fuzz
@given(data=st.data())
def test_flipped_bits(tmp_path: Path, data: st.DataObject) -> None:
    image = bytearray(_whole())
    for _ in range(data.draw(st.integers(1, 6))):
        word = data.draw(st.sampled_from(_busy_words()))
        bit = data.draw(st.integers(0, 63))
        image[word + bit // 8] ^= 1 << bit % 8
    path = tmp_path / "x"
    path.write_bytes(image)
    _ask_all(path)


@fuzz
@given(data=st.data())
def test_overwritten_words(tmp_path: Path, data: st.DataObject) -> None:
    image = bytearray(_whole())
    for _ in range(data.draw(st.integers(1, 4))):
        word = data.draw(st.sampled_from(_busy_words()))
        value = data.draw(st.one_of(st.sampled_from(_EXTREMES), st.integers(0, 2**64 - 1)))
        image[word : word + 8] = value.to_bytes(8, "little")
    path = tmp_path / "x"
    path.write_bytes(image)
    _ask_all(path)


@fuzz
@given(size=st.one_of(st.integers(0, 70000), st.integers(0, len(_whole()))))
def test_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x"
    path.write_bytes(_whole()[:size])
    assert _ask_all(path) == (set(_ANSWERS) if size == len(_whole()) else set())


@fuzz
@given(noise=st.binary(max_size=8192), has_magic=st.booleans())
def test_noise(tmp_path: Path, noise: bytes, has_magic: bool) -> None:  # noqa: FBT001
    path = tmp_path / "x"
    path.write_bytes((schema.MAGIC.to_bytes(8, "little") if has_magic else b"") + noise)
    assert _ask_all(path) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n, f in schema.Header.FIELDS.items() if f.code in "IQ"])
def test_numbers_of_the_header_ask_for_no_memory(tmp_path: Path, name: str) -> None:
    """In a sparse file of 64 GiB even absurd sizes lie inside of it."""
    path = tmp_path / "x"
    for value in (2**31, 2**32 - 1):
        path.write_bytes(_with(bytearray(_whole()), schema.Header, 0, (name, value)))
        os.truncate(path, 64 << 30)
        _check_memory(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [k for k in range(1, schema.KIND_SNAPSHOTS + 1)])  # noqa: C416
def test_numbers_of_the_directory_ask_for_no_memory(tmp_path: Path, kind: int) -> None:
    path = tmp_path / "x"
    whole = bytearray(_whole())
    put(whole, schema.Header, "used", 60 << 30)
    for at, entry in _entries():
        if entry.kind == kind:
            for change in (("first", 1 << 33), ("first", 1 << 62), ("owner", 2**32 - 1)):
                path.write_bytes(_with(bytearray(whole), schema.Extent, at, change))
                os.truncate(path, 64 << 30)
                _check_memory(path)
            break


def _check_memory(path: Path) -> None:
    tracemalloc.start()
    try:
        _ask_all(path)
        assert tracemalloc.get_traced_memory()[1] < _MOST_BYTES
    finally:
        tracemalloc.stop()
