"""Stacks that were cut short, and the module whose code the walk could not get out of."""

from __future__ import annotations

from dataclasses import dataclass

from heapglass.model import HeapSource, Pseudo, SiteTable

# The recorder's own choice, and no fault of any module.
_CHOSEN = {Pseudo.DEPTH, Pseudo.OTHER}


@dataclass(frozen=True, slots=True)
class Cut:
    reason: Pseudo
    module: str  # path; "" for code in no file, as compilers at run time make it
    sites: int
    allocations: int


def find_cuts(source: HeapSource, table: SiteTable) -> tuple[Cut, ...]:
    """By reason and module, most allocations first; `table` holds all sites of the source."""
    modules = source.modules
    found: dict[tuple[Pseudo, str], tuple[int, int]] = {}
    reasons = source.cuts()
    for site, allocations in zip(table.id.tolist(), table.allocations.tolist(), strict=True):
        if site not in reasons or reasons[site] in _CHOSEN:
            continue
        stack = source.stack(site)
        # The outermost frame that is known: from there no rule led on.
        last = stack.frames[-1].module if stack.frames else -1
        key = reasons[site], modules[last].path if last >= 0 else ""
        sites, sum_before = found.get(key, (0, 0))
        found[key] = sites + 1, sum_before + allocations
    cuts = [Cut(*key, *counts) for key, counts in found.items()]
    return tuple(sorted(cuts, key=lambda cut: -cut.allocations))
