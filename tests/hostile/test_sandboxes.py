"""Programs that put seccomp filters on themselves: none is killed for what we do."""

from __future__ import annotations

import pytest

from harness.bench import Bench
from harness.counters import by_name
from harness.programs import program
from harness.running import under_heapglass

MODES = pytest.mark.parametrize("mode", [{}, {"HEAPGLASS_SAMPLE": "256"}], ids=["exact", "sampled"])


@MODES
@pytest.mark.parametrize("how", ["prctl", "seccomp", "strict"])
@pytest.mark.parametrize("lets", ["no", "madvise"])
@pytest.mark.parametrize("blocks", ["0", "500"])
def test_what_is_not_let_is_not_done(
    bench: Bench, how: str, lets: str, blocks: str, mode: dict[str, str]
) -> None:
    bench.compare_program(program("confined").argv((how, lets, blocks)), under_heapglass(**mode))


def test_what_is_let_serves(bench: Bench) -> None:
    """Pages can be reserved: all is recorded, and the end is seen."""
    recording = bench.compare(program("confined").argv(("prctl", "madvise", "500"))).recording
    assert by_name(recording)["site_inside"]["allocations"] == 500
    assert recording.losses.ladder == "recording"
    assert recording.process.exit_status == 3


def test_what_is_not_let_is_told(bench: Bench) -> None:
    """The blocks that no page could be reserved for are losses, and the reason is told."""
    recording = bench.compare(program("confined").argv(("prctl", "no", "20000"))).recording
    seen = by_name(recording).get("site_inside", {}).get("allocations", 0)
    lost = sum(loss.events for loss in recording.losses.items)
    assert seen < 20000
    assert seen + lost >= 20000
    assert recording.losses.reason == "cannot_grow"


def test_what_the_kernel_refuses(bench: Bench) -> None:
    """Pointers and filters that the kernel has yet to look at."""
    bench.compare_program(program("misgiven").argv())
