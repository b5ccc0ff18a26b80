"""profile.proto, read back by a parser that shares nothing with its writer."""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heapglass.export import pprof
from heapglass.export.extract import Extract
from heapglass.export.metric import Metric
from heapglass.export.protobuf import number, packed
from unit.export import sample
from unit.export.protobuf_reader import Message, numbers, parse


@dataclass
class Profile:
    message: Message
    strings: list[str]

    def text(self, index: Any) -> str:
        return self.strings[index]

    def types(self) -> list[tuple[str, str]]:
        found = map(parse, self.message[1])  # type: ignore[arg-type]
        return [(self.text(t[1][0]), self.text(t[2][0])) for t in found]

    def by_id(self, field: int) -> dict[Any, Message]:
        found = [parse(item) for item in self.message.get(field, [])]  # type: ignore[arg-type]
        ids = [item[1][0] for item in found]
        assert len(set(ids)) == len(ids)
        assert 0 not in ids
        return dict(zip(ids, found, strict=True))

    def samples(self) -> list[tuple[list[str], list[int]]]:
        """Names of each stack, innermost first, and its values."""
        locations, functions = self.by_id(4), self.by_id(5)
        result = []
        for item in self.message[2]:
            fields = parse(item)  # type: ignore[arg-type]
            names = []
            for location in numbers(fields[1][0]):  # type: ignore[arg-type]
                lines = map(parse, locations[location][4])  # type: ignore[arg-type]
                names += [self.text(functions[line[1][0]][2][0]) for line in lines]
            result.append((names, numbers(fields[2][0])))  # type: ignore[arg-type]
        return result


def written(extract: Extract) -> Profile:
    out = io.BytesIO()
    pprof.write(extract, out)
    message = parse(gzip.decompress(out.getvalue()))
    strings = [data.decode() for data in message[6]]  # type: ignore[union-attr]
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    return Profile(message, strings)


def test_values_of_each_site() -> None:
    profile = written(sample.extract())
    assert profile.types()[:4] == [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ]
    by_stack = {tuple(names): values for names, values in profile.samples()}
    whole = by_stack["std::vector<int>::grow(int)", "fill", "main"]
    assert whole == [10, 1000, 6, 600, 7, 700, 1]
    assert by_stack["load", "[depth limit]"] == [2, 20, 1, 10, 1, 10, 0]
    assert by_stack["[no stack]",] == [1, 8, 1, 8, 1, 8, 0]
    stripped = f"app+{sample.STRIPPED.offset:#x}"
    assert by_stack[stripped, "main"] == [5, 50, 0, 0, 1, 10, 5]


def test_inlined_functions_share_a_location() -> None:
    profile = written(sample.extract())
    inlined = [location for location in profile.by_id(4).values() if len(location[4]) == 2]
    assert [location[3] for location in inlined] == [[sample.FILL.address - 1]]
    inner, outer = (parse(line) for line in inlined[0][4])  # type: ignore[arg-type]
    assert (inner[2], outer[2]) == ([7], [41])
    files = profile.by_id(5)
    assert profile.text(files[outer[1][0]][4][0]) == "/src/app.c"


def test_mapping_has_the_build_id() -> None:
    (mapping,) = written(sample.extract()).by_id(3).values()
    profile = written(sample.extract())
    assert (mapping[2], mapping[3]) == ([0x1000], [0x9000])
    assert profile.text(mapping[5][0]) == "/usr/bin/app"
    assert profile.text(mapping[6][0]) == "ab12"
    assert 7 not in mapping  # one of its functions has no name: pprof may look for it
    assert mapping[10] == [1]


def test_names_that_are_no_text_are_escaped() -> None:
    names = {name for names, _ in written(sample.extract()).samples() for name in names}
    assert 'a;b"#\\n\\xff{closure#0}' in names


def test_what_is_shown_first() -> None:
    profile = written(sample.extract(metric=Metric.ALLOCATED))
    assert profile.text(profile.message[14][0]) == "alloc_space"
    profile = written(sample.extract())
    assert profile.text(profile.message[14][0]) == "peak_space"


def test_sampling_is_told() -> None:
    source = sample.sampled_heap()
    profile = written(sample.extract(source))
    assert profile.message[12] == [source.recorder.sample_bytes]
    comments = [profile.text(index) for index in numbers(profile.message[13][0])]  # type: ignore[arg-type]
    assert any(comment.startswith("Sampled once in about 512 KiB") for comment in comments)


def test_empty_heap() -> None:
    profile = written(sample.extract(sample.heap(made_of=())))
    assert 2 not in profile.message
    assert len(profile.types()) == 7


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_numbers_come_back(values: list[int]) -> None:
    assert numbers(parse(packed(5, values))[5][0]) == values  # type: ignore[arg-type]
    for value in values:
        assert parse(number(300, value)) == ({300: [value % 2**64]} if value else {})
