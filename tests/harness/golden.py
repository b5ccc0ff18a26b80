"""Golden recordings: how they are made, and all that one holds, as text, the same anywhere."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from harness.programs import TESTS, program
from harness.running import library, run, under_heapglass
from heapglass.convert.packing import pack as pack_with_names
from heapglass.convert.redaction import Redactor
from heapglass.model import Frame, FrameAddress, HeapSource, Snapshot
from heapglass.recording import open_recording
from heapglass.recording.glance import pack
from heapglass.symbols.naming import Names, names_of
from heapglass.views.json.documents import summary_document, table_document
from heapglass.views.selection import TableQuery
from heapglass.views.summary import SummaryQuery, build_summary
from heapglass.views.table import build_table

# Paths and host are kept in a recording: they shall not tell where it was made.
_NEUTRAL = Path("/tmp/golden")
_AS_GOLDEN = ("unshare", "--map-root-user", "--uts", "sh", "-c", 'hostname golden; exec "$@"', "-")


class NoNames:
    """A resolver that looks at no file: which function an address is in depends on the machine."""

    warnings = ()

    def __init__(self, source: HeapSource) -> None:
        self._modules = source.modules

    def resolve(self, addresses: Iterable[FrameAddress]) -> dict[FrameAddress, tuple[Frame, ...]]:
        return {address: (self._frame(address),) for address in addresses}

    def _frame(self, address: FrameAddress) -> Frame:
        module = self._modules[address.module] if address.module >= 0 else None
        path, bias = (module.path, module.bias) if module else ("", 0)
        return Frame("", "", 0, path, address.address, address.address - bias)


def record(directory: Path) -> None:
    """Record `everything` anew into `directory`, one compressed file per process: exactly, as
    parent and child, then sampled; a program whose samples stand for different numbers; and one
    with blocks of middle size."""
    sampled = {"HEAPGLASS_SAMPLE": "4k", "HEAPGLASS_SEED": "7"}
    _record("everything", directory, {}, {False: "parent", True: "child"})
    _record("everything", directory, sampled, {False: "sampled"})
    _record("lives_by_size", directory, sampled, {False: "weighed"})
    _record("middle", directory, {}, {False: "middle"})


def _record(name: str, directory: Path, options: dict[str, str], names: dict[bool, str]) -> None:
    """`names` of processes that are forked, and that are not; others are not kept."""
    shutil.rmtree(_NEUTRAL, ignore_errors=True)
    _NEUTRAL.mkdir(mode=0o700)
    preload = shutil.copy(library(), _NEUTRAL)
    recorded = program(name)
    argv = recorded.argv(recorded.cases[0])
    words = [_bare_copy(word) if os.path.isabs(word) else word for word in argv]
    options = {"HEAPGLASS_SNAPSHOT": "0.02", "HEAPGLASS_OUT": "%e.%p.heapglass", **options}
    environment = under_heapglass(**options).environment
    settings = [f"{name}={value}" for name, value in environment.items()]
    preloaded = ["env", "-i", *settings, f"LD_PRELOAD={preload}", *words]
    outcome = run([*_AS_GOLDEN, *preloaded], _NEUTRAL)
    assert outcome.status == 0, outcome
    for path in _NEUTRAL.glob("*.heapglass"):
        with open_recording(path) as source:
            kept_as = names.get(source.process.is_forked)
        pack(path)
        if kept_as:
            _compress(path, directory / f"{kept_as}.heapglass.gz")
    shutil.rmtree(_NEUTRAL)


def contents(source: HeapSource) -> dict[str, Any]:
    """Everything that can be asked of a recording."""
    names = NoNames(source)
    return {
        **_surroundings(source),
        "summary": summary_document(build_summary(source, names, SummaryQuery())),
        "table": table_document(source, build_table(source, names, TableQuery())),
        "recorder": asdict(source.recorder),
        "losses": asdict(source.losses),
        "modules": [asdict(module) for module in source.modules],
        "threads": [asdict(thread) for thread in source.threads],
        "sites": _columns(source.sites()),
        "shards": {shard: _columns(table) for shard, table in source.sites_by_shard().items()},
        "blocks": _columns(source.blocks()),
        "timeline": _columns(source.timeline()),
        "snapshots": [_snapshot(snapshot) for snapshot in source.snapshots()],
        "annotated": _columns(source.annotated()),
        "marks": [asdict(mark) for mark in source.marks()],
        "sizes": source.size_histogram().counts.tolist(),
        "lifetimes": source.lifetime_histogram().counts.tolist(),
    }


def _surroundings(source: HeapSource) -> dict[str, Any]:
    """Since version 6."""
    process = source.process
    if process.greatest_rss is None:
        return {}
    return {
        "libc": process.libc,
        "allocator": process.allocator,
        "greatest rss": asdict(process.greatest_rss),
    }


def as_text(document: dict[str, Any]) -> str:
    """One item of a list per line, so that a difference is a readable one."""
    parts = []
    for key, value in document.items():
        items = value if isinstance(value, list) else [value]
        lines = ",\n".join(json.dumps(item, default=str) for item in items)
        parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def unpacked(compressed: Path, directory: Path) -> Path:
    path = directory / compressed.stem
    path.write_bytes(gzip.decompress(compressed.read_bytes()))
    return path


def _bare_copy(word: str) -> str:
    """A copy under the program's name alone, without what the build added to it."""
    source = Path(word)
    return str(shutil.copy(source, _NEUTRAL / source.name.rpartition("-")[0]))


def _compress(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """What is in the file: errors are made from the sites'."""
    columns = _columns(snapshot)
    del columns["errors"]
    return columns


def _columns(table: Any) -> dict[str, Any]:
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    return {n: c.tolist() if isinstance(c, np.ndarray) else c for n, c in columns.items()}


def record_packed(directory: Path) -> None:
    """Record a small program with debug information and pack it, as it is and redacted."""
    shutil.rmtree(_NEUTRAL, ignore_errors=True)
    _NEUTRAL.mkdir(mode=0o700)
    source = shutil.copy(TESTS / "unit" / "symbols" / "programs" / "chain.c", _NEUTRAL)
    chain, recording = _NEUTRAL / "chain", _NEUTRAL / "chain.heapglass"
    subprocess.run(["gcc", "-O2", "-g", source, "-o", chain], check=True)
    settings = (f"LD_PRELOAD={shutil.copy(library(), _NEUTRAL)}", f"HEAPGLASS_OUT={recording}")
    run([*_AS_GOLDEN, "env", "-i", "HEAPGLASS_QUIET=1", *settings, str(chain)], _NEUTRAL)
    directory.mkdir(parents=True, exist_ok=True)
    for name, redactor in (("plain", None), ("redacted", Redactor("golden"))):
        pack_with_names(str(recording), directory / f"{name}.packed", redactor, lambda _: None)
    shutil.rmtree(_NEUTRAL)


def packed_contents(path: Path) -> dict[str, Any]:
    """What a packed recording adds to the recording, which has golden files of its own: names, how
    the process stood; and of the rest enough to see that it is there."""
    with open_recording(path) as source:
        names, process, sites = names_of(source), source.process, source.sites()
        return {
            "notes": list(source.notes),
            "warnings": list(names.warnings),
            "process": [process.state, process.duration_ns, process.executable, process.argv],
            "modules": [[module.path, module.build_id] for module in source.modules],
            "threads": [thread.name for thread in source.threads],
            "sites": [
                [count, size, [astuple(frame) for frame in _named(source, names, site)]]
                for site, count, size in zip(
                    sites.id.tolist(),
                    sites.allocations.tolist(),
                    sites.bytes_allocated.tolist(),
                    strict=True,
                )
            ],
        }


def _named(source: HeapSource, names: Names, site: int) -> list[Frame]:
    return [frame for address in source.stack(site).frames for frame in names.frames(address)]
