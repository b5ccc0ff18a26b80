"""Where stacks came from: recalled, or walked, and how many frames that took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heapglass.model import ThreadWork


@dataclass(frozen=True, slots=True)
class WalkRates:
    """Of one thread or several. Frames and rules are noted down now and then only: they are
    compared with the walks of those threads that have done so."""

    allocations: int
    walks: int
    frames: int
    rule_misses: int
    counted_walks: int  # the walks that `frames` were walked for

    @property
    def recalled(self) -> int:
        """Allocations whose stack was known without a walk."""
        return max(0, self.allocations - self.walks)

    @property
    def recalled_share(self) -> float | None:
        return self.recalled / self.allocations if self.allocations else None

    @property
    def are_frames_known(self) -> bool:
        """For most walks, so that they speak for all."""
        return self.counted_walks * 2 > self.walks

    @property
    def frames_per_walk(self) -> float | None:
        return self.frames / self.counted_walks if self.counted_walks else None

    @property
    def frames_per_allocation(self) -> float | None:
        """As far as frames were counted."""
        per_walk = self.frames_per_walk
        if per_walk is None or not self.allocations:
            return None
        return per_walk * self.walks / self.allocations

    @property
    def rule_hit_share(self) -> float | None:
        return max(0.0, 1 - self.rule_misses / self.frames) if self.frames else None


def walk_rates(threads: Iterable[ThreadWork]) -> WalkRates:
    threads = list(threads)
    counted = [thread for thread in threads if thread.stats["frames"]]
    return WalkRates(
        allocations=sum(thread.allocations for thread in threads),
        walks=_sum(threads, "walks"),
        frames=_sum(counted, "frames"),
        rule_misses=_sum(counted, "rule_misses"),
        counted_walks=_sum(counted, "walks"),
    )


def _sum(threads: Sequence[ThreadWork], stat: str) -> int:
    return sum(thread.stats[stat] for thread in threads)
