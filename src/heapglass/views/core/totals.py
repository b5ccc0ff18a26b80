"""Blocks in use added up by module, then by function, then by return address."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from posixpath import basename

import numpy as np

from heapglass.model import Frame
from heapglass.views.core.owners import Owner, UsedView
from heapglass.views.text.labels import function_text

NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True, slots=True)
class Total:
    """One line of the tree; `frame` is there at its leaves."""

    name: str
    blocks: int
    size_bytes: int  # asked for; what malloc set aside where nobody recorded that
    parts: tuple[Total, ...] = ()
    frame: Frame | None = None


def build_totals(view: UsedView, module: str = "", function: str = "") -> Total:
    """The whole tree, or only what is of a module and of a function."""
    leaves = [leaf for leaf in _leaves(view) if _is_wanted(leaf[0], module, function)]
    modules = _gather(leaves, _module, _functions)
    return Total("", *_sums(leaves), modules)


_Leaf = tuple[Owner | None, int, int]  # owner, blocks, bytes


def _leaves(view: UsedView) -> list[_Leaf]:
    used = view.used
    sites, row = np.unique(used.site, return_inverse=True)
    blocks = np.bincount(row, minlength=len(sites))
    sizes = np.zeros(len(sites), np.int64)
    np.add.at(sizes, row, np.where(used.requested >= 0, used.requested, used.size))
    columns = zip(sites.tolist(), blocks.tolist(), sizes.tolist(), strict=True)
    return [(view.owners.get(site), many, size) for site, many, size in columns]


def _is_wanted(owner: Owner | None, module: str, function: str) -> bool:
    if module and module not in (_module(owner), basename(_module(owner))):
        return False
    return not function or (owner is not None and owner.is_of(function))


def _module(owner: Owner | None) -> str:
    if owner is None:
        return NOT_RECORDED
    return (owner.responsible.module if owner.responsible else "") or "(unknown)"


def _functions(leaves: list[_Leaf]) -> tuple[Total, ...]:
    if leaves[0][0] is None:
        return ()
    return _gather(leaves, _function, _returns)


def _function(owner: Owner | None) -> str:
    frame = owner.responsible if owner else None
    return function_text(frame) if frame else "(unknown)"


def _returns(leaves: list[_Leaf]) -> tuple[Total, ...]:
    totals = _gather(leaves, _return_address, lambda _: ())
    frames = {_return_address(owner): owner.responsible for owner, _, _ in leaves if owner}
    return tuple(
        Total(total.name, total.blocks, total.size_bytes, (), frames.get(total.name))
        for total in totals
    )


def _return_address(owner: Owner | None) -> str:
    frame = owner.responsible if owner else None
    return f"{frame.address:#x}" if frame else "(unknown)"


def _gather(
    leaves: list[_Leaf],
    name_of: Callable[[Owner | None], str],
    parts_of: Callable[[list[_Leaf]], tuple[Total, ...]],
) -> tuple[Total, ...]:
    """One total for each name, the most bytes first."""
    groups: dict[str, list[_Leaf]] = {}
    for leaf in leaves:
        groups.setdefault(name_of(leaf[0]), []).append(leaf)
    totals = [Total(name, *_sums(group), parts_of(group)) for name, group in groups.items()]
    return tuple(sorted(totals, key=lambda total: (-total.size_bytes, total.name)))


def _sums(leaves: list[_Leaf]) -> tuple[int, int]:
    return sum(blocks for _, blocks, _ in leaves), sum(size for _, _, size in leaves)
