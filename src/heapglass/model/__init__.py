"""What a heap looks like to everything above: frozen values and the `HeapSource` protocol.

No I/O, no clock, no environment. Tables with one row per site or block are numpy columns;
everything else is a small dataclass.
"""

from heapglass.model.finding import Finding, Severity
from heapglass.model.process import (
    ChangeReason,
    GreatestRss,
    LiveUnit,
    Loss,
    Losses,
    LossKind,
    Mode,
    ModeChange,
    Module,
    Process,
    ProcessState,
    Recorder,
    Thread,
    Totals,
)
from heapglass.model.source import HeapSource
from heapglass.model.stack import Frame, FrameAddress, Pseudo, Stack
from heapglass.model.tables import (
    BlockTable,
    Histogram,
    Mark,
    SiteTable,
    Snapshot,
    SnapshotErrors,
    Timeline,
)
from heapglass.model.workings import (
    HistoryFill,
    RecordingPlace,
    TableFill,
    ThreadWork,
    Workings,
)

__all__ = [
    "BlockTable",
    "ChangeReason",
    "Finding",
    "Frame",
    "FrameAddress",
    "GreatestRss",
    "HeapSource",
    "Histogram",
    "HistoryFill",
    "LiveUnit",
    "Loss",
    "LossKind",
    "Losses",
    "Mark",
    "Mode",
    "ModeChange",
    "Module",
    "Process",
    "ProcessState",
    "Pseudo",
    "Recorder",
    "RecordingPlace",
    "Severity",
    "SiteTable",
    "Snapshot",
    "SnapshotErrors",
    "Stack",
    "TableFill",
    "Thread",
    "ThreadWork",
    "Timeline",
    "Totals",
    "Workings",
]
