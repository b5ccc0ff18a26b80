"""Real programs give byte-identical results under heapglass, and so do the programs they start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.allocators import allocators
from harness.bench import Bench, opened
from harness.consistency import contradictions
from harness.real import RECORDED, perform, prepare
from harness.running import bare_setting, under_heapglass
from heapglass.model import HeapSource, LossKind

# Losses that only say a stack could not be followed to its end.
STACK_LOSSES = {kind for kind in LossKind if kind.name.startswith("STACK_")}


def files(directory: Path) -> dict[str, bytes]:
    """Everything the script left behind; git's index holds inode numbers and times."""
    found = (p for p in sorted(directory.rglob("*")) if p.is_file())
    return {str(p.relative_to(directory)): p.read_bytes() for p in found if p.name != "index"}


def sound(source: HeapSource) -> list[str]:
    lost = [loss for loss in source.losses.items if loss.kind not in STACK_LOSSES]
    if source.process.is_forked:
        lost = [loss for loss in lost if loss.kind is not LossKind.INHERITED_FREE]
    return [*map(str, lost), *contradictions(source)]


def check(bench: Bench, name: str, below: list[str]) -> None:
    setting = under_heapglass()
    setting = replace(setting, preload=[*setting.preload, *below])
    bare, bare_directory, _ = perform(bench, name, bare_setting(setting))
    glass, glass_directory, where = perform(bench, name, setting)
    assert glass == bare
    assert bare.status == 0
    assert files(glass_directory) == files(bare_directory)
    recordings = opened(where)
    executables = [Path(r.process.executable).name for r in recordings]
    for wanted in RECORDED[name]:
        assert any(wanted in executable for executable in executables), executables
    assert {r.name: lines for r in recordings if (lines := sound(r))} == {}


@pytest.mark.parametrize("name", RECORDED)
def test_nothing_differs(bench: Bench, name: str) -> None:
    check(bench, name, [])


# redis asks for jemalloc's own functions: newer ones hang above other allocators, recorded or not.
WITH_ALLOCATORS = [
    (name, allocator)
    for name in ("sqlite3", "python3_malloc", "perl", "gcc", "redis", "xz")
    for allocator in allocators()
    if name != "redis" or allocator == "jemalloc"
]


@pytest.mark.parametrize(("name", "allocator"), WITH_ALLOCATORS)
def test_nothing_differs_with_another_allocator(bench: Bench, name: str, allocator: str) -> None:
    check(bench, name, [allocators()[allocator]])


# As many as can be compared one by one in a few seconds; deep and varied stacks all the same.
WITNESSED = {
    "sqlite3": ["sqlite3", ":memory:"],
    "python3": [
        "/usr/bin/python3",
        "-c",
        "import json, re; print(json.dumps(re.findall('a', 'aba')))",
    ],
    "perl": ["perl", "-e", "my %h; $h{$_ % 17} .= $_ x 3 for 1..3000; print length $h{3}"],
    "xmllint": ["xmllint", "--format", "tree.xml"],
}


@pytest.mark.parametrize("name", WITNESSED)
def test_every_stack_is_the_one_backtrace_gives(bench: Bench, name: str) -> None:
    prepare(bench.directory)
    argv = [str(bench.directory / word) if word == "tree.xml" else word for word in WITNESSED[name]]
    stdin = (bench.directory / "words.sql").read_bytes() if name == "sqlite3" else b""
    environment = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}
    assert bench.witnessed(argv, replace(under_heapglass(**environment), stdin=stdin)) == []
