"""The timeline: totals over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import Timeline
from heapglass.recording import schema
from heapglass.recording.file.arenas import read_arena
from heapglass.recording.file.older import point_of
from heapglass.recording.tables.columns import signed, view

if TYPE_CHECKING:
    from heapglass.recording.file.image import Image


def read_timeline(image: Image) -> Timeline:
    points = view(read_arena(image, schema.KIND_TIMELINE), point_of(image.header))
    time = signed(points["time"])
    if np.any(time < 0):
        raise image.file.damaged("its timeline has a time beyond all times")
    return Timeline(
        # Two threads that read the clock at once may note their points in the other order.
        time_ns=np.maximum.accumulate(time),
        live_bytes=signed(points["live_bytes"]),
        live_blocks=signed(points["live_blocks"]),
        allocations=signed(points["allocations"]),
        bytes_allocated=signed(points["bytes_allocated"]),
        peak_bytes=signed(points["peak_bytes"]),
        usable_bytes=signed(points["usable_bytes"]),
    )
