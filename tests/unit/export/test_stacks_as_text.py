"""Formats that list stacks by name: collapsed and speedscope."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from heapglass.export import collapsed, speedscope
from heapglass.export.extract import Extract
from heapglass.export.metric import MEASURES, Metric
from heapglass.model import ProcessState
from unit.export import sample
from unit.fake_source import FakeSite


def folded(extract: Extract) -> dict[tuple[str, ...], int]:
    out = io.BytesIO()
    collapsed.write(extract, out)
    stacks = {}
    for line in out.getvalue().decode().splitlines():
        stack, _, value = line.rpartition(" ")
        key = tuple(stack.split(";"))
        assert key not in stacks
        stacks[key] = int(value)
    return stacks


@pytest.mark.parametrize("metric", Metric)
def test_collapsed_adds_up(metric: Metric) -> None:
    stacks = folded(sample.extract(metric=metric))
    column = getattr(sample.heap().sites(), MEASURES[metric].column)
    assert sum(stacks.values()) == int(column.sum())
    assert all(value > 0 for value in stacks.values())


def test_collapsed_is_outermost_first() -> None:
    stacks = folded(sample.extract(metric=Metric.LIVE))
    assert stacks["main", "fill", "std::vector<int>::grow(int)"] == 600
    assert stacks["main", "load", 'a:b"#\\n\\xff{closure#0}'] == 30_000
    assert stacks["[depth limit]", "load"] == 10
    assert stacks["[no stack]",] == 8


def test_collapsed_merges_stacks_of_equal_names() -> None:
    twin = sample.frame("load", "/src/app.c", 41)
    made = [FakeSite((frame, sample.MAIN), 1, 0, 10, 0) for frame in (sample.LOAD, twin)]
    assert folded(sample.extract(sample.heap(made_of=made), Metric.LIVE)) == {("main", "load"): 20}


def document(extract: Extract) -> Any:
    out = io.BytesIO()
    speedscope.write(extract, out)
    return json.loads(out.getvalue())


@pytest.mark.parametrize("state", [ProcessState.EXITED, ProcessState.RUNNING])
def test_speedscope_keeps_to_the_format(state: ProcessState) -> None:
    found = document(sample.extract(sample.heap(state=state)))
    assert found["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    for frame in found["shared"]["frames"]:
        assert set(frame) <= {"name", "file", "line"}
        assert frame["name"]
    assert 0 <= found["activeProfileIndex"] < len(found["profiles"])
    for profile in found["profiles"]:
        assert profile["type"] == "sampled"
        assert profile["unit"] in ("bytes", "none")
        assert len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        count = len(found["shared"]["frames"])
        assert all(0 <= index < count for sample in profile["samples"] for index in sample)


def test_speedscope_has_a_profile_for_each_metric() -> None:
    found = document(sample.extract())
    sums = {profile["name"]: sum(profile["weights"]) for profile in found["profiles"]}
    assert sums == {
        "live bytes at the peak": 30_728,
        "bytes allocated": 31_078,
        "bytes never freed": 30_618,
        "temporary allocations": 6,
        "allocations": 21,
    }
    assert found["profiles"][found["activeProfileIndex"]]["name"] == "live bytes at the peak"
    running = document(sample.extract(sample.heap(state=ProcessState.RUNNING)))
    assert running["profiles"][running["activeProfileIndex"]]["name"] == "live bytes"


def test_speedscope_stacks_are_outermost_first() -> None:
    found = document(sample.extract(metric=Metric.LEAKED))
    profile = found["profiles"][found["activeProfileIndex"]]
    frames = found["shared"]["frames"]
    names = [[frames[index]["name"] for index in stack] for stack in profile["samples"]]
    assert ["main", "fill", "std::vector<int>::grow(int)"] in names
    assert {"name": "load", "file": "/src/app.c", "line": 40} in frames


def test_speedscope_tells_of_sampling() -> None:
    assert "Sampled once in about" in document(sample.extract(sample.sampled_heap()))["name"]
