"""Who answers for each of many sites, with no more names looked up than that takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heapglass.analysis.plumbing import Plumbing
from heapglass.model import Frame, FrameAddress, HeapSource
from heapglass.views.naming import Resolver

_WINDOW = 8  # addresses of each stack named at a time; most need no more


def find_responsible_frames(
    source: HeapSource, resolver: Resolver, sites: Iterable[int], plumbing: Plumbing
) -> dict[int, Frame | None]:
    """By site id, the same frame that `responsible_frame` finds in the whole named stack."""
    stacks = {site: source.stack(site).frames for site in sites}
    names = _Names(resolver, plumbing)
    found: dict[int, Frame | None] = dict.fromkeys(stacks)
    pending = [site for site, frames in stacks.items() if frames]
    start = 0
    while pending:
        window = slice(start, start + _WINDOW)
        names.learn(address for site in pending for address in stacks[site][window])
        for site in pending:
            found[site] = names.first_own(stacks[site][window])
        start += _WINDOW
        unknown = [site for site in pending if found[site] is None]
        pending = [site for site in unknown if len(stacks[site]) > start]
        for site in unknown:
            if len(stacks[site]) <= start:
                found[site] = names.innermost[stacks[site][0]]
    return found


class _Names:
    """What is known of the addresses seen so far."""

    def __init__(self, resolver: Resolver, plumbing: Plumbing) -> None:
        self._resolver = resolver
        self._plumbing = plumbing
        self._own: dict[FrameAddress, Frame | None] = {}
        self.innermost: dict[FrameAddress, Frame] = {}

    def learn(self, addresses: Iterable[FrameAddress]) -> None:
        fresh = dict.fromkeys(address for address in addresses if address not in self._own)
        if not fresh:
            return
        for address, frames in self._resolver.resolve(list(fresh)).items():
            own = (frame for frame in frames if not self._plumbing.covers(frame))
            self._own[address] = next(own, None)
            self.innermost[address] = frames[0]

    def first_own(self, addresses: Sequence[FrameAddress]) -> Frame | None:
        owns = (self._own[address] for address in addresses)
        return next((own for own in owns if own is not None), None)
