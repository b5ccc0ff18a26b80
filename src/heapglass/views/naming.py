"""From sites to named stacks, all addresses in one batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from heapglass.analysis.stacks import NamedStack
from heapglass.model import Frame, FrameAddress, HeapSource


class Resolver(Protocol):
    """Whoever knows the names; `warnings` tells what kept it from knowing more."""

    @property
    def warnings(self) -> Sequence[str]: ...

    def resolve(
        self, addresses: Iterable[FrameAddress]
    ) -> Mapping[FrameAddress, tuple[Frame, ...]]: ...


def name_stacks(
    source: HeapSource, resolver: Resolver, sites: Iterable[int]
) -> dict[int, NamedStack]:
    """The stacks of these sites by id. Each distinct address is asked for once."""
    stacks = {site: source.stack(site) for site in sites}
    addresses = dict.fromkeys(address for stack in stacks.values() for address in stack.frames)
    if not addresses:
        return {site: NamedStack((), stack.cut) for site, stack in stacks.items()}
    names = resolver.resolve(list(addresses))
    return {
        site: NamedStack(
            tuple(frame for address in stack.frames for frame in names[address]), stack.cut
        )
        for site, stack in stacks.items()
    }
