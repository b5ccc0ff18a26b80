"""The timeline as a trace in Chrome's JSON, which Perfetto reads too.

Counters are tracks: live bytes and blocks, what is set aside beyond, what is allocated per second,
and, from the snapshots, what the functions hold that held most at the peak, or at the moment
that is exported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from heapglass import __version__
from heapglass.analysis.narrowed import counts_usable
from heapglass.analysis.stacks import responsible_frame
from heapglass.export.extract import Extract, command_text, frame_name
from heapglass.model import Timeline
from heapglass.model.tables import I64

_MOST_FUNCTIONS = 10
_US, _S = 1000, 10**9

Event = dict[str, Any]


def write(extract: Extract, out: BinaryIO) -> None:
    other = {
        "command": command_text(extract),
        "exporter": f"heapglass {__version__}",
        "caveats": list(extract.caveats),
        "sample_bytes": extract.heap.recorder.sample_bytes,
    }
    out.write(f'{{"displayTimeUnit": "ms",\n"otherData": {json.dumps(other)},\n'.encode())
    out.write(b'"traceEvents": [')
    pid = extract.heap.process.pid
    for number, event in enumerate(_events(extract)):
        text = json.dumps({**event, "pid": pid}, separators=(",", ":"))
        out.write(f"{',' if number else ''}\n{text}".encode())
    out.write(b"\n]}\n")


def _events(extract: Extract) -> Iterator[Event]:
    yield _named("process_name", 0, command_text(extract))
    yield from _threads(extract)
    yield from _marks(extract)
    timeline = extract.heap.timeline()
    yield from _counter("live bytes", timeline.time_ns, timeline.live_bytes)
    yield from _counter("live blocks", timeline.time_ns, timeline.live_blocks)
    if not counts_usable(extract.heap):
        slack = np.maximum(timeline.usable_bytes - timeline.live_bytes, 0)
        yield from _counter("slack bytes", timeline.time_ns, slack)
    yield from _counter("bytes allocated per second", timeline.time_ns, _rate(timeline))
    yield from _functions(extract)


def _named(kind: str, tid: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "tid": tid, "ts": 0, "args": {"name": name}}


def _threads(extract: Extract) -> Iterator[Event]:
    """From its first event to its last, each as one slice."""
    for thread in extract.heap.threads:
        name = thread.name or f"thread {thread.tid}"
        yield _named("thread_name", thread.tid, name)
        yield {
            "ph": "X",
            "name": name,
            "cat": "thread",
            "tid": thread.tid,
            "ts": thread.first_seen_ns / _US,
            "dur": max(0, thread.last_seen_ns - thread.first_seen_ns) / _US,
            "args": {"allocations": thread.allocations, "bytes": thread.bytes_allocated},
        }


def _marks(extract: Extract) -> Iterator[Event]:
    heap = extract.heap
    totals, losses = heap.totals, heap.losses
    if totals.peak_bytes:
        yield _instant("peak", totals.peak_time_ns, {"bytes": totals.peak_bytes})
    for mark in heap.marks():
        yield _instant(mark.name, mark.time_ns, {"mark": "by the program"})
    for change in heap.recorder.changes:
        what = {"interval": change.sample_bytes, "reason": change.reason.value}
        yield _instant(f"mode: {change.mode.value}", change.time_ns, what)
    if losses.ladder != "recording":
        yield _instant(f"recorder: {losses.ladder}", losses.since_ns, {"reason": losses.reason})


def _instant(name: str, time_ns: int, args: dict[str, Any]) -> Event:
    return {"ph": "i", "s": "p", "name": name, "tid": 0, "ts": time_ns / _US, "args": args}


def _counter(name: str, times: I64, values: I64) -> Iterator[Event]:
    for time_ns, value in zip(times.tolist(), values.tolist(), strict=True):
        yield {"ph": "C", "name": name, "tid": 0, "ts": time_ns / _US, "args": {"value": value}}


def _rate(timeline: Timeline) -> I64:
    """Since the point before."""
    passed = np.diff(timeline.time_ns, prepend=0)
    grown = np.diff(timeline.bytes_allocated, prepend=0).astype(np.float64)
    rate = np.divide(grown * _S, passed, out=np.zeros(len(grown)), where=passed > 0)
    return np.maximum(rate, 0).astype(np.int64)


def _functions(extract: Extract) -> Iterator[Event]:
    names, group = _top_functions(extract)
    for snapshot in extract.heap.snapshots():
        known = snapshot.site < len(group)
        held = np.zeros(len(names) + 1, np.int64)
        np.add.at(held, group[snapshot.site[known]], snapshot.live_bytes[known])
        yield {
            "ph": "C",
            "name": "live bytes by function",
            "tid": 0,
            "ts": snapshot.time_ns / _US,
            "args": dict(zip((*names, "others"), held.tolist(), strict=False)),
        }


def _top_functions(extract: Extract) -> tuple[list[str], I64]:
    """Their names, and by site id the number of its function; sites that were not chosen, and
    those of all other functions, are the last."""
    sizes: dict[str, int] = {}
    of_site: dict[int, str] = {}
    held = extract.sites.live_bytes if "peak_bytes" in extract.absent else extract.sites.peak_bytes
    for site, size in zip(extract.sites.id.tolist(), held.tolist(), strict=True):
        frame = responsible_frame(extract.named(site), extract.plumbing)
        of_site[site] = frame_name(frame) if frame else "others"
        sizes[of_site[site]] = sizes.get(of_site[site], 0) + size
    names = sorted((name for name in sizes if name != "others"), key=lambda name: -sizes[name])
    numbers = {name: number for number, name in enumerate(names[:_MOST_FUNCTIONS])}
    group: I64 = np.full(max(of_site, default=0) + 1, len(numbers), np.int64)
    for site, name in of_site.items():
        group[site] = numbers.get(name, len(numbers))
    return list(numbers), group
