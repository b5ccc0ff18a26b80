"""The screens as they were looked at and found good.

To look at them anew: HEAPGLASS_REFRESH_GOLDEN=1 pytest tests/unit/cli/test_golden.py, then read
the diff. A refreshed run fails, so that it cannot pass for a check. Screens are those of a
terminal, but where the name says pipe.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from unit.cli.sample_heap import (
    empty_heap,
    estimated_heap,
    freed_heap,
    historic_heap,
    lossy_heap,
    marked_heap,
    running_heap,
    sample_heap,
    sampled_heap,
)
from unit.cli.terminal import Terminal

if TYPE_CHECKING:
    from unit.cli.conftest import Run

GOLDEN = Path(__file__).parent / "golden"
SCREENS = {
    "summary-80": (["summary", "x"], {"COLUMNS": "80"}),
    "summary-200": (["summary", "x"], {"COLUMNS": "200"}),
    "summary-pipe": (["summary", "x", "--top", "2", "--si"], {}),
    "table-80": (["table", "x"], {"COLUMNS": "80"}),
    "table-200": (["table", "x"], {"COLUMNS": "200"}),
    "table-pipe": (["table", "x", "--min", "1k"], {}),
    "table-pipe-60": (["table", "x"], {"COLUMNS": "60"}),
    "table-pipe-80": (["table", "x"], {"COLUMNS": "80"}),
    "table-pipe-200": (["table", "x"], {"COLUMNS": "200"}),
    "table-stacks-pipe-80": (["table", "x", "--stacks", "-n", "3"], {"COLUMNS": "80"}),
    "summary-pipe-80": (["summary", "x", "-n", "2"], {"COLUMNS": "80"}),
    "tree-pipe-60": (["tree", "x"], {"COLUMNS": "60"}),
    "timeline-marked-pipe-60": (["timeline", "x"], {"COLUMNS": "60"}),
    "leaks-historic-pipe-80": (["leaks", "x"], {"COLUMNS": "80"}),
    "diff-pipe-80": (["diff", "x", "later"], {"COLUMNS": "80"}),
    "table-60": (["table", "x"], {"COLUMNS": "60"}),
    "table-bytes-80": (["table", "x", "--sort", "bytes"], {"COLUMNS": "80"}),
    "table-temporary-80": (["table", "x", "--sort", "temporary"], {"COLUMNS": "80"}),
    "table-leaked-120": (["table", "x", "--sort", "leaked", "-n", "3"], {"COLUMNS": "120"}),
    "table-stacks-80": (["table", "x", "--stacks"], {"COLUMNS": "80"}),
    "table-stacks-200": (["table", "x", "--stacks", "-n", "2"], {"COLUMNS": "200"}),
    "function-80": (["table", "x", "--group", "function"], {"COLUMNS": "80"}),
    "function-200": (["table", "x", "--group", "function"], {"COLUMNS": "200"}),
    "function-pipe": (["table", "x", "--group", "function"], {}),
    "file-80": (["table", "x", "--group", "file"], {"COLUMNS": "80"}),
    "module-80": (["table", "x", "--group", "module"], {"COLUMNS": "80"}),
    "thread-80": (["table", "x", "--group", "thread"], {"COLUMNS": "80"}),
    "doctor-80": (["doctor", "x"], {"COLUMNS": "80"}),
    "doctor-60": (["doctor", "x"], {"COLUMNS": "60"}),
    "doctor-pipe": (["doctor", "x", "--si"], {}),
    "doctor-lossy-80": (["doctor", "x"], {"COLUMNS": "80"}),
    "doctor-lossy-120": (["doctor", "x"], {"COLUMNS": "120"}),
    "doctor-running-80": (["doctor", "x"], {"COLUMNS": "80"}),
    "doctor-empty-80": (["doctor", "x"], {"COLUMNS": "80"}),
    "summary-marked-80": (["summary", "x@2s"], {"COLUMNS": "80"}),
    "summary-historic-peak-80": (["summary", "x@peak", "-n", "2"], {"COLUMNS": "80"}),
    "summary-lossy-80": (["summary", "x"], {"COLUMNS": "80"}),
    "table-lossy-80": (["table", "x"], {"COLUMNS": "80"}),
    "summary-running-80": (["summary", "x", "-n", "1"], {"COLUMNS": "80"}),
    "table-running-80": (["table", "x"], {"COLUMNS": "80"}),
    "summary-sampled-80": (["summary", "x"], {"COLUMNS": "80"}),
    "table-sampled-120": (["table", "x"], {"COLUMNS": "120"}),
    "summary-empty-80": (["summary", "x"], {"COLUMNS": "80"}),
    "table-empty-80": (["table", "x"], {"COLUMNS": "80"}),
    "tree-80": (["tree", "x"], {"COLUMNS": "80"}),
    "tree-120": (["tree", "x", "--min", "0"], {"COLUMNS": "120"}),
    "tree-pipe": (["tree", "x"], {}),
    "tree-callers-80": (["tree", "x", "--callers", "--sort", "bytes"], {"COLUMNS": "80"}),
    "tree-all-frames-120": (["tree", "x", "--all-frames"], {"COLUMNS": "120"}),
    "tree-module-80": (["tree", "x", "--group", "module"], {"COLUMNS": "80"}),
    "tree-sampled-80": (["tree", "x", "--sort", "live"], {"COLUMNS": "80"}),
    "tree-empty-80": (["tree", "x"], {"COLUMNS": "80"}),
    "flamegraph-80": (["flamegraph", "x"], {"COLUMNS": "80"}),
    "flamegraph-120": (["flamegraph", "x", "--callers"], {"COLUMNS": "120"}),
    "flamegraph-pipe": (["flamegraph", "x", "--depth", "0", "--min", "0"], {}),
    "flamegraph-color-80": (["flamegraph", "x", "--color"], {"COLUMNS": "80", "TERM": "xterm"}),
    "flamegraph-empty-80": (["flamegraph", "x"], {"COLUMNS": "80"}),
    "timeline-historic-80": (["timeline", "x"], {"COLUMNS": "80"}),
    "timeline-historic-120": (["timeline", "x", "--show", "bytes"], {"COLUMNS": "120"}),
    "timeline-historic-filter-80": (
        ["timeline", "x", "--function", "Index", "--since", "1s"],
        {"COLUMNS": "80"},
    ),
    "timeline-estimated-filter-80": (
        ["timeline", "x", "--function", "Index", "--show", "blocks"],
        {"COLUMNS": "80"},
    ),
    "timeline-marked-80": (["timeline", "x", "--top", "0"], {"COLUMNS": "80"}),
    "timeline-empty-80": (["timeline", "x"], {"COLUMNS": "80"}),
    "sizes-historic-80": (["sizes", "x"], {"COLUMNS": "80"}),
    "sizes-historic-fine-120": (["sizes", "x", "--fine", "--group", "site"], {"COLUMNS": "120"}),
    "sizes-empty-80": (["sizes", "x"], {"COLUMNS": "80"}),
    "ages-historic-80": (["ages", "x", "--group", "function"], {"COLUMNS": "80"}),
    "ages-historic-pipe": (["ages", "x", "--fine", "--group", "module", "--since", "1s"], {}),
    "threads-80": (["threads", "x"], {"COLUMNS": "80"}),
    "threads-120": (["threads", "x", "--group", "name"], {"COLUMNS": "120"}),
    "threads-filter-80": (["threads", "x", "--function", "Index"], {"COLUMNS": "80"}),
    "leaks-historic-80": (["leaks", "x"], {"COLUMNS": "80"}),
    "leaks-historic-120": (["leaks", "x", "--stacks", "-n", "2"], {"COLUMNS": "120"}),
    "leaks-historic-pipe": (["leaks", "x", "--group", "module", "--min", "2k"], {}),
    "leaks-historic-moment-80": (["leaks", "x@2s"], {"COLUMNS": "80"}),
    "leaks-historic-peak-80": (["leaks", "x@peak", "--group", "module"], {"COLUMNS": "80"}),
    "leaks-estimated-moment-120": (["leaks", "x@2s"], {"COLUMNS": "120"}),
    "leaks-freed-80": (["leaks", "x"], {"COLUMNS": "80"}),
    "leaks-freed-pipe": (["leaks", "x", "-n", "1"], {}),
    "leaks-empty-80": (["leaks", "x"], {"COLUMNS": "80"}),
    "diff-80": (["diff", "x", "later"], {"COLUMNS": "80"}),
    "diff-120": (["diff", "x", "later", "--stacks", "-n", "1"], {"COLUMNS": "120"}),
    "diff-pipe": (["diff", "x", "later", "--group", "function", "--same"], {}),
    "diff-historic-80": (["diff", "x@1s", "x@2s"], {"COLUMNS": "80"}),
    "table-historic-moment-80": (["table", "x@2s"], {"COLUMNS": "80"}),
    "table-historic-window-80": (["table", "x", "--since", "1s"], {"COLUMNS": "80"}),
    "table-thread-80": (["table", "x", "--thread", "worker"], {"COLUMNS": "80"}),
    "wrapper-80": (["table", "x", "--wrapper", "xml.*"], {"COLUMNS": "80"}),
}
HEAPS = {
    "estimated": estimated_heap,
    "freed": freed_heap,
    "historic": historic_heap,
    "lossy": lossy_heap,
    "marked": marked_heap,
    "running": running_heap,
    "sampled": sampled_heap,
    "empty": empty_heap,
}


def compare(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        path.write_text(text, encoding="utf-8")
        pytest.fail(f"{path.name} was written anew")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCREENS)
def test_screen(run: Run, name: str) -> None:
    arguments, env = SCREENS[name]
    make = next((make for word, make in HEAPS.items() if word in name), sample_heap)
    terminal = None if "pipe" in name else Terminal()
    environment = {"LINES": "1000", "NO_COLOR": "1", **env}
    code, output, errors = run(make(), *arguments, env=environment, terminal=terminal)
    assert (code, errors) == (0, "")
    compare(name, output)
