"""What is exported: the sites that were chosen, their stacks with names, and what must be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from posixpath import basename

from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack
from heapglass.export.metric import MEASURES, Metric
from heapglass.model import Frame, FrameAddress, HeapSource, Pseudo, SiteTable, Stack
from heapglass.text import printable

_CUTS = {
    Pseudo.DEPTH: "[depth limit]",
    Pseudo.NO_RULE: "[no unwind information]",
    Pseudo.BOUNDS: "[frame outside the stack]",
    Pseudo.BAD_RULE: "[unwind information not understood]",
    Pseudo.OTHER: "[stacks without room of their own]",
}
NO_STACK = "[no stack]"


@dataclass(frozen=True, slots=True)
class Extract:
    """`stacks` by site id, `names` for each address on them."""

    heap: HeapSource
    sites: SiteTable
    stacks: Mapping[int, Stack]
    names: Mapping[FrameAddress, tuple[Frame, ...]]
    caveats: tuple[str, ...]
    metric: Metric
    is_whole: bool = True  # all sites of the heap were chosen
    plumbing: Plumbing = field(default_factory=Plumbing)

    def named(self, site: int) -> NamedStack:
        stack = self.stacks[site]
        frames = (frame for address in stack.frames for frame in self.names[address])
        return NamedStack(tuple(frames), stack.cut)

    def values(self, metric: Metric | None = None) -> Iterator[tuple[int, int]]:
        """Sites that have any of it, and how much."""
        column = getattr(self.sites, MEASURES[metric or self.metric].column)
        for site, value in zip(self.sites.id.tolist(), column.tolist(), strict=True):
            if value > 0:
                yield site, value


def frame_name(frame: Frame) -> str:
    """The function; without one the place in the module, or the bare address."""
    if frame.function:
        return printable(frame.function)
    if frame.module:
        return printable(f"{basename(frame.module)}+{frame.offset:#x}")
    return f"{frame.address:#x}"


def cut_name(cut: Pseudo) -> str:
    """What stands for the outer frames that are missing."""
    return _CUTS[cut]


def command_text(extract: Extract) -> str:
    process = extract.heap.process
    return printable(" ".join(process.argv) or process.executable)
