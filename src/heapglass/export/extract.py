"""What is exported: the sites that were chosen, their stacks with names, and what must be said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename

from heapglass.analysis.narrowed import absent_counters
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.source_hash import source_hashes
from heapglass.analysis.stacks import NamedStack
from heapglass.export.metric import MEASURES, Metric
from heapglass.model import Frame, FrameAddress, HeapSource, Pseudo, SiteTable, Stack
from heapglass.model.tables import U64
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
class Trail:
    """A stack whose frames are numbers, innermost first: see `number_places`."""

    frames: tuple[int, ...]
    cut: Pseudo | None


@dataclass(frozen=True, slots=True)
class Extract:
    """`stacks` by site id; their frames are positions in `places` and in `names`, which has the
    frames at each place, the innermost inlined one first."""

    heap: HeapSource
    sites: SiteTable
    stacks: Mapping[int, Trail]
    places: Sequence[FrameAddress]
    names: Sequence[tuple[Frame, ...]]
    caveats: tuple[str, ...]
    metric: Metric
    is_whole: bool = True  # all sites of the heap were chosen
    plumbing: Plumbing = field(default_factory=Plumbing)

    @property
    def absent(self) -> frozenset[str]:
        """Columns of the sites that nothing is known about: all 0."""
        return absent_counters(self.heap)

    def named(self, site: int) -> NamedStack:
        stack = self.stacks[site]
        frames = (frame for place in stack.frames for frame in self.names[place])
        return NamedStack(tuple(frames), stack.cut)

    def values(self, metric: Metric | None = None) -> Iterator[tuple[int, int]]:
        """Sites that have any of it, and how much."""
        column = getattr(self.sites, MEASURES[metric or self.metric].column)
        for site, value in zip(self.sites.id.tolist(), column.tolist(), strict=True):
            if value > 0:
                yield site, value


def number_places(
    stacks: Iterable[tuple[int, Stack]],
) -> tuple[dict[int, Trail], list[FrameAddress]]:
    """The stacks in numbers, and the address that each number stands for.

    There may be millions of frames, and numbers are quick to look up; addresses are not. A source
    hands out the same object for the same caller again and again, so most are known by that.
    """
    numbers: dict[FrameAddress, int] = {}
    known: dict[int, tuple[int, FrameAddress]] = {}  # by id(); kept, so that none is given twice
    trails = {}
    for site, stack in stacks:
        for address in stack.frames:
            if id(address) not in known:
                number = numbers.setdefault(address, len(numbers))
                known[id(address)] = number, address
        trails[site] = Trail(tuple([known[id(address)][0] for address in stack.frames]), stack.cut)
    return trails, list(numbers)


def hash_stacks(extract: Extract) -> U64:
    """The number of each site's stack that is the same from run to run."""
    stacks = [extract.stacks[site].frames for site in extract.sites.id.tolist()]
    return source_hashes(stacks, extract.places, extract.heap.modules)


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
