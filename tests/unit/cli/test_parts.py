"""Parts of a recording, in the commands that look at them in their own way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from unit.cli.sample_heap import historic_heap, marked_heap, sample_heap

if TYPE_CHECKING:
    from unit.cli.conftest import Run


def _document(run: Run, *arguments: str) -> dict[str, Any]:
    code, output, errors = run(historic_heap(), *arguments, "--json")
    assert (code, errors) == (0, "")
    found: dict[str, Any] = json.loads(output)
    return found


def test_a_timeline_of_the_sites_of_threads(run: Run) -> None:
    found = _document(run, "timeline", "x", "--thread", "worker")
    assert [site["id"] for site in found["sites"]] == [5]  # 6 held nothing
    assert found["matched"] == 2
    assert found["points"] == [[1.0, 0], [2.0, 327_680], [3.4, 163_840]]
    assert "All that happened at the 2 sites" in found["caveats"][0]


def test_a_timeline_of_large_sites(run: Run) -> None:
    found = _document(run, "timeline", "x", "--min", "300k")
    # Site 5 held that much at a snapshot and at the peak, but not in the end.
    assert {site["id"] for site in found["sites"]} == {2, 3, 5}
    assert _document(run, "timeline", "x", "--min", "1G")["matched"] == 0


def test_a_timeline_ends_at_the_moment(run: Run) -> None:
    found = _document(run, "timeline", "x@2s")
    assert found["points"][-1][0] == 1.5
    assert found == _document(run, "timeline", "x", "--until", "2s")


def test_a_timeline_of_no_time_at_all(run: Run) -> None:
    assert _document(run, "timeline", "x@start")["points"] == []
    code, output, _ = run(historic_heap(), "timeline", "x@start")
    assert code == 0
    assert "Nothing to draw" in output


def test_a_timeline_has_the_marks_of_its_time(run: Run) -> None:
    output = run(marked_heap(), "timeline", "x", "--until", "1s", "--json")[1]
    assert json.loads(output)["marks"] == [
        {"time": 0.01, "name": "configuration loaded"},
        {"time": 0.6, "name": "serving"},
    ]


@pytest.mark.parametrize(
    ("window", "seen"),
    [((), 3), (("--since", "3.3s"), 0), (("--until", "start"), 1), (("--until", "end"), 3)],
)
def test_threads_by_when_they_were_seen(run: Run, window: tuple[str, ...], seen: int) -> None:
    found = _document(run, "threads", "x", *window)
    assert found["matched"] == seen
    has_note = any("snapshots do not tell threads apart" in one for one in found["caveats"])
    assert has_note == bool(window)


def test_a_difference_of_threads(run: Run) -> None:
    code, output, _ = run(sample_heap(), "diff", "x", "later", "--thread", "worker", "--json")
    found = json.loads(output)
    assert code == 0
    sites = {site for row in found["rows"] for site in row["before"]["sites"]}
    assert sites <= {5, 6}
    assert found["caveats"][0].startswith("A: Only what 2 of 3 threads did")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("threads", "x@1s"), "snapshots do not tell threads apart: use --since and --until"),
        (("diff", "x@1s", "x", "--thread", "app"), "--thread knows the end and the peak"),
        (("timeline", "x@1s", "--until", "2s"), "both say where to stop"),
        (("timeline", "x", "--thread", "nobody"), "no thread is called 'nobody'"),
    ],
)
def test_what_is_not_known(run: Run, arguments: tuple[str, ...], sentence: str) -> None:
    code, output, errors = run(historic_heap(), *arguments)
    assert (code, output) == (2, "")
    assert sentence in errors
    assert errors.count("\n") == 1
