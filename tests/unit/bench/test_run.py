"""A whole run: what is kept of one that is interrupted, and when one has failed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import run
from suite.curves import CURVES, Point
from suite.findings import Findings
from suite.measure import Cost
from suite.parts import Measured
from suite.session import FULL, Session
from suite.workloads import WORKLOADS_ALL

OPTIONS = argparse.Namespace(commit="abc", note="", quick=False, only=None)
PAIRS = WORKLOADS_ALL[0]
SESSION = Session(FULL, Path("libheapglass.so"))


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SO_FAR", "RESULTS"):
        monkeypatch.setattr(run, name, tmp_path / name)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    return tmp_path


def measure(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[Findings], None]) -> int:
    def planned(*_: object) -> Iterator[run.Step]:
        return (run.Step(step.__name__, step) for step in steps)

    monkeypatch.setattr(run, "steps", planned)
    return run.measure(SESSION, OPTIONS)


def pairs(found: Findings) -> None:
    runs = found.runs_of(PAIRS)
    runs["plain"] = [Cost({"ns": 8.0})]
    runs["heapglass"] = [Cost({"ns": 19.0})]
    runs["heaptrack"] = [Cost({}, "killed by SIGSEGV")]


def interrupted(found: Findings) -> None:
    found.points_of(CURVES[0]).append(Point(1_000_000, 8, 20))
    raise KeyboardInterrupt


def impossible(_: Findings) -> None:
    raise FileNotFoundError("no such program")


def test_a_run_is_written_and_a_crashed_rival_is_a_result(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measure(monkeypatch, pairs) == 0
    text = (places / "RESULTS").read_text()
    assert "11.0 ns" in text
    assert "killed by SIGSEGV" in text


def test_an_interrupted_run_keeps_what_it_has_and_the_results_of_the_last_whole_one(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, pairs, interrupted, impossible) == 130
    text = (places / "SO_FAR").read_text()
    assert "11.0 ns" in text
    assert "| 1,000,000 " in text
    assert "- interrupted: at interrupted" in text
    assert not (places / "RESULTS").exists()
    assert "what was measured is in SO_FAR" in capsys.readouterr().err


def test_what_cannot_be_run_does_not_keep_out_the_rest_but_fails(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measure(monkeypatch, impossible, pairs) == 1
    assert "11.0 ns" in (places / "RESULTS").read_text()
    assert "failed: impossible: no such program" in capsys.readouterr().err


def test_a_part_that_does_not_build_fails_the_run_and_is_named_once() -> None:
    titles = ("clock", "... read")
    lost = [Measured("part-clock", title, [], "does not build") for title in titles]
    assert Findings(parts=lost).complaints() == ["part-clock: does not build"]


def test_failures_of_our_own_fail_the_run() -> None:
    found = Findings()
    found.runs_of(PAIRS)["heapglass"] = [Cost({}, "killed by SIGSEGV")]
    found.points_of(CURVES[0]).append(Point(10, 0, 0, failure="out of time"))
    assert found.complaints() == [
        f"{PAIRS.name} under heapglass: killed by SIGSEGV",
        f"{CURVES[0].name} at 10: out of time",
    ]
    assert "out of time" in found.text([], "")
