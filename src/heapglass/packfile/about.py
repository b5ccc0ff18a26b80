"""What is said about a packed recording as a whole: when it was packed, how its process stood."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime

from heapglass.packfile.container import PART_ABOUT, PackFile

LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class About:
    made_by: str  # "heapglass 0.1.0"
    packed_wall_ns: int
    state: str  # of the process, when it was packed: a value of model.ProcessState
    duration_ns: int  # of the process, until its end or until it was packed
    copying_ns: int  # how long it took to copy the tables
    is_redacted: bool

    def notes(self) -> tuple[str, ...]:
        """What must be known before the numbers are read."""
        notes = []
        if self.state == "running":
            moment = datetime.fromtimestamp(self.packed_wall_ns / 1e9, UTC)
            notes.append(
                f"packed while the process ran, at {moment:%Y-%m-%d %H:%M:%S} UTC: all numbers are"
                f" of that moment, up to {max(1, self.copying_ns // 1_000_000)} ms apart"
            )
        if self.is_redacted:
            notes.append(
                "paths and names were replaced when it was packed: words such as x7mq2ka4f"
            )
        return tuple(notes)

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode()


def read_about(file: PackFile) -> About:
    """RecordingError when it makes no sense. Keys that a later version added are left out."""
    try:
        document = json.loads(file.read(PART_ABOUT, LARGEST))
        about = About(**{field.name: document[field.name] for field in fields(About)})
    except (ValueError, KeyError, TypeError, RecursionError):
        raise file.damaged("it does not say what it is") from None
    kinds = {"str": str, "int": int, "bool": bool}
    if any(type(getattr(about, f.name)) is not kinds[str(f.type)] for f in fields(About)):
        raise file.damaged("it does not say what it is")
    return about
