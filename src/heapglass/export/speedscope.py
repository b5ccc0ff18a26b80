"""speedscope's own format: one profile per counter, the chosen one shown first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from heapglass import __version__
from heapglass.export.extract import NO_STACK, Extract, Trail, command_text, cut_name, frame_name
from heapglass.export.metric import MEASURES, Metric, held
from heapglass.model import Frame
from heapglass.text import printable

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"bytes": "bytes", "count": "none"}


def write(extract: Extract, out: BinaryIO) -> None:
    out.writelines(part.encode() for part in _parts(extract))


def _parts(extract: Extract) -> Iterator[str]:
    """Piece by piece: as one text it would be several times as large in memory as in the file."""
    frames = _Frames(extract)
    metrics = _metrics(extract)
    yield f'{{"$schema": {json.dumps(_SCHEMA)},\n"exporter": "heapglass {__version__}",\n'
    yield f'"name": {json.dumps(_title(extract))},\n'
    yield f'"activeProfileIndex": {metrics.index(extract.metric)},\n"profiles": [\n'
    for position, metric in enumerate(metrics):
        yield ",\n" if position else ""
        yield json.dumps(_profile(extract, metric, frames), separators=(",", ":"))
    yield f'\n],\n"shared": {{"frames": {json.dumps(frames.listed)}}}\n}}\n'


def _metrics(extract: Extract) -> list[Metric]:
    """Those that are known. What is not freed has two names, of which one is right."""
    wrong = {Metric.LIVE, Metric.LEAKED} - {held(extract.heap.process.state), extract.metric}
    known = (metric for metric in Metric if MEASURES[metric].column not in extract.absent)
    return [metric for metric in known if metric not in wrong]


def _title(extract: Extract) -> str:
    caveats = " ".join(extract.caveats)
    return f"{command_text(extract)}{'. ' if caveats else ''}{caveats}"


def _profile(extract: Extract, metric: Metric, frames: _Frames) -> dict[str, Any]:
    measure = MEASURES[metric]
    samples, weights = [], []
    for site, value in extract.values(metric):
        samples.append(frames.of(extract.stacks[site]))
        weights.append(value)
    return {
        "type": "sampled",
        "name": measure.title,
        "unit": _UNITS[measure.unit],
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


class _Frames:
    """Frames by number, in the order in which they are met."""

    def __init__(self, extract: Extract) -> None:
        self.listed: list[dict[str, Any]] = []
        self._names = extract.names
        self._numbers: dict[tuple[str, str, int], int] = {}
        self._known: dict[int, list[int]] = {}  # by place, outermost first

    def of(self, stack: Trail) -> list[int]:
        """Outermost first."""
        numbers: list[int] = []
        if stack.cut is not None:
            numbers.append(self._number(cut_name(stack.cut), "", 0))
        elif not stack.frames:
            numbers.append(self._number(NO_STACK, "", 0))
        for place in reversed(stack.frames):
            known = self._known.get(place)
            if known is None:
                frames = reversed(self._names[place])
                known = self._known[place] = [self._add(frame) for frame in frames]
            numbers += known
        return numbers

    def _add(self, frame: Frame) -> int:
        return self._number(frame_name(frame), printable(frame.file or frame.module), frame.line)

    def _number(self, name: str, file: str, line: int) -> int:
        key = name, file, line
        if key not in self._numbers:
            self._numbers[key] = len(self.listed)
            place = {"file": file} if file else {}
            self.listed.append({"name": name, **place, **({"line": line} if line else {})})
        return self._numbers[key]
