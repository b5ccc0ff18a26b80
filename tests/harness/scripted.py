"""Scripts of allocator calls, as the driver ran them under heapglass, against the naive model."""

from __future__ import annotations

from collections.abc import Sequence

from harness.bench import Bench
from harness.comparison import block_differences, histogram_differences, site_differences
from harness.consistency import contradictions
from harness.model import Heap, replay
from harness.programs import program
from harness.running import Setting
from harness.scripts import Step, events_of, site_keys, written
from heapglass.model import HeapSource

DRIVER = program("driver")
LARGEST = 3 << 20
_PEAK = ("peak_bytes", "peak_blocks")


def perform(
    bench: Bench, order: str, script: Sequence[Step], setting: Setting | None = None
) -> tuple[HeapSource, Heap]:
    here = bench.fresh("steps")
    log = here / "log"
    run = bench.record(DRIVER.argv((order, written(script, here / "script"), str(log))), setting)
    assert (run.outcome.status, run.outcome.stderr) == (0, b""), run.outcome
    return run.recording, replay(events_of(script, log))


def all_differences(source: HeapSource, heap: Heap, racing: int = 0) -> list[str]:
    """With racing threads the peak is known but for the event each of them is in the middle of."""
    key_of = site_keys(source)
    return [
        *(f"lost: {loss}" for loss in source.losses.items),
        *contradictions(source, peak_slack_bytes=racing * LARGEST),
        *site_differences(source, heap, key_of, without=_PEAK if racing else ()),
        *block_differences(source, heap, key_of),
        *histogram_differences(source, heap, key_of),
    ]
