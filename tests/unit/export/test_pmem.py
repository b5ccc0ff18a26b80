"""pmem's layout, by a reader made from its description."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from heapglass.analysis.source_hash import source_hash
from heapglass.export import pmem
from heapglass.export.extract import Extract
from unit.export import sample

_HEAD = re.compile(r"\[( *\d+)\](=+)")
_CHURN = re.compile(r"churn=(\d+)/(\d+)")
_SOURCE = re.compile(r"\{([0-9a-f]{16})\} live:(\d+), alloc:(\d+)/(\d+), free:(\d+)/(\d+)")
_FRAME = re.compile(r"  \{(\d+)\} (?:(\S+)\((\S*)\+0x([0-9a-f]+)\) )?\[0x([0-9a-f]+)\]")


@dataclass
class Source:
    numbers: list[int]  # live, alloc, all alloc, free, all free
    frames: list[str]


@dataclass
class Shot:
    churn: int
    threshold: int
    sources: dict[str, Source]


def shots(extract: Extract) -> list[Shot]:
    out = io.BytesIO()
    pmem.write(extract, out)
    return read(out.getvalue().decode())


def read(text: str) -> list[Shot]:
    found: list[Shot] = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if head := _HEAD.fullmatch(line):
            assert len(line) == 62
            assert int(head[1]) == len(found)
            churn = _CHURN.fullmatch(lines[at + 1])
            assert churn
            assert lines[at + 2] == ""
            found.append(Shot(int(churn[1]), int(churn[2]), {}))
        elif source := _SOURCE.fullmatch(line):
            assert source[1] not in found[-1].sources
            last = found[-1].sources[source[1]] = Source([int(n) for n in source.groups()[1:]], [])
        elif match := _FRAME.fullmatch(line):
            assert int(match[1]) == len(last.frames)
            last.frames.append(match[5])
        else:
            assert line == "" or _CHURN.fullmatch(line), line
    return found


def test_snapshots_and_the_end() -> None:
    found = shots(sample.extract())
    assert [shot.churn for shot in found] == [600 + 100 + 10, 40 + 50 + 30_000, 400 + 300 + 28 + 10]
    assert {shot.threshold for shot in found} == {0}
    assert [len(shot.sources) for shot in found] == [2, 3, 4]


def test_numbers_of_a_source() -> None:
    extract = sample.extract()
    key = f"{source_hash(extract.heap.stack(2), extract.heap.modules):016x}"
    found = shots(extract)
    numbers = [shot.sources[key].numbers for shot in found]
    assert numbers == [
        [500, 600, 600, 100, 100],
        [500, 0, 600, 0, 100],
        [600, 400, 1000, 300, 400],
    ]
    addresses = [f"{frame.address:x}" for frame in extract.heap.stack(2).frames]
    assert found[0].sources[key].frames == addresses


def test_churn_is_what_the_sources_add_up_to() -> None:
    for shot in shots(sample.extract()):
        assert shot.churn == sum(s.numbers[1] + s.numbers[3] for s in shot.sources.values())
        for source in shot.sources.values():
            live, _, allocated, _, freed = source.numbers
            assert live == allocated - freed


def test_without_snapshots_there_is_the_end() -> None:
    heap = sample.heap()
    heap.snapshots = lambda: iter(())  # type: ignore[method-assign]
    (shot,) = shots(sample.extract(heap))
    assert len(shot.sources) == len(sample.SITES)
