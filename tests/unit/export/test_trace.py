"""Chrome's trace format: what its description asks of each event."""

from __future__ import annotations

import io
import json
from typing import Any

from heapglass.export import trace
from heapglass.export.extract import Extract
from unit.export import sample

_NEEDED = {
    "M": {"name", "ph", "pid", "args"},
    "C": {"name", "ph", "pid", "ts", "args"},
    "X": {"name", "ph", "pid", "tid", "ts", "dur"},
    "i": {"name", "ph", "pid", "tid", "ts", "s"},
}


def document(extract: Extract) -> Any:
    out = io.BytesIO()
    trace.write(extract, out)
    return json.loads(out.getvalue())


def counters(found: Any, name: str) -> list[tuple[float, dict[str, int]]]:
    events = found["traceEvents"]
    return [(e["ts"], e["args"]) for e in events if e["ph"] == "C" and e["name"] == name]


def test_every_event_keeps_to_the_format() -> None:
    found = document(sample.extract())
    assert found["displayTimeUnit"] in ("ms", "ns")
    last: dict[str, float] = {}
    for event in found["traceEvents"]:
        assert _NEEDED[event["ph"]] <= set(event), event
        assert event["pid"] == 4242
        assert event["ts"] >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())
            assert event["ts"] >= last.get(event["name"], 0)
            last[event["name"]] = event["ts"]
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
        if event["ph"] == "i":
            assert event["s"] in ("g", "p", "t")


def test_the_timeline_in_microseconds() -> None:
    found = document(sample.extract())
    live = counters(found, "live bytes")
    assert live == [(0, {"value": 10}), (1e6, {"value": 11}), (2e6, {"value": 12})]
    assert [args["value"] for _, args in counters(found, "slack bytes")] == [5, 5, 5]
    assert [args["value"] for _, args in counters(found, "bytes allocated per second")] == [0, 1, 1]


def test_functions_over_time() -> None:
    shown = counters(document(sample.extract()), "live bytes by function")
    assert [time for time, _ in shown] == [1e6, 2e6]
    assert [sum(args.values()) for _, args in shown] == [510, 30_500]
    assert shown[1][1]['a;b"#\\n\\xff{closure#0}'] == 30_000
    assert shown[1][1]["fill"] == 500


def test_peak_and_caveats() -> None:
    found = document(sample.extract(sample.sampled_heap()))
    assert any("Sampled once" in caveat for caveat in found["otherData"]["caveats"])
    found = document(sample.extract())
    peaks = [event for event in found["traceEvents"] if event["name"] == "peak"]
    assert [(event["ts"], event["args"]) for event in peaks] == [(2.1e6, {"bytes": 30_728})]
