"""The call tree: each site's stack, and which sites are one.

Two threads that meet a new stack in the same instant may give it two sites, or two nodes on its
way, and blocks that were sampled have sites of their own. Sites with equal stacks (same return
addresses in the same generations of modules) are shown as one, under the lowest id; but annotated
blocks, which lie inside of others, never together with those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heapglass.model import FrameAddress, Pseudo, Stack
from heapglass.recording import schema
from heapglass.recording.tables.columns import signed, table, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image
    from heapglass.recording.tables.modules import ModuleTable

# No stack is deeper; the target cuts them at 4096 frames or less.
_MOST_FRAMES = 1 << 16


def read_site_records(image: Image) -> bytearray:
    """What Stacks needs, through an image made after this."""
    return image.table(schema.KIND_SITES, schema.Site.SIZE, image.header.sites)


class Stacks:
    """Sites and their stacks, as far as they were visible."""

    __slots__ = (
        "_address",
        "_file",
        "_links",
        "_module",
        "_node",
        "_parent",
        "canonical",
        "cut",
        "first_seen",
        "is_annotated",
        "modules",
        "records",
        "sample_shift",
    )

    def __init__(self, image: Image, records: bytearray, modules: ModuleTable) -> None:
        nodes = table(image, schema.KIND_NODES, schema.Node, image.header.nodes)
        sites = view(records, schema.Site)
        self.records = records
        self.modules = modules
        self._file = image.file
        self._links: dict[int, tuple[FrameAddress, int]] = {}
        self._address: NDArray[np.uint64] = nodes["address"].copy()
        self._parent = signed(nodes["parent"])
        self._module = modules.locate(self._address)
        self._node = signed(sites["node"])
        self.is_annotated = self._take_annotated()
        # sample_shift[site] is the logarithm of the interval it was sampled at, 0 for exact ones.
        self.sample_shift = self._take_sampled()
        self.first_seen = signed(sites["first_seen"])
        # cut[site] is why its stack ends early, as enum hg_pseudo has it, 0 where it does not;
        # canonical[site] the id that its stack is shown under, 0 where no site is visible.
        self.cut = np.zeros(len(self._node), np.int64)
        self.canonical = self._merge()

    def _take_annotated(self) -> NDArray[np.bool_]:
        """Which sites are of annotated blocks; from then on these begin behind their marks."""
        is_annotated = np.zeros(len(self._node), np.bool_)
        ids, address = self._innermost()
        marked = ids[address == schema.PSEUDO_ANNOTATED]
        if not np.all(self._parent[self._node[marked]]):
            raise self._file.damaged("a site of annotated blocks in it has no stack")
        self._node[marked] = self._parent[self._node[marked]]
        is_annotated[marked] = True
        return is_annotated

    def _take_sampled(self) -> NDArray[np.int64]:
        """What the nodes that mark sampled sites say; from then on such sites begin behind them."""
        shift = np.zeros(len(self._node), np.int64)
        ids, address = self._innermost()
        marked = ids[(address > schema.PSEUDO_SAMPLED) & (address < schema.PSEUDO_END)]
        shift[marked] = signed(self._address[self._node[marked]]) - schema.PSEUDO_SAMPLED
        known = range(schema.SAMPLE_SHIFT_LEAST, schema.SAMPLE_SHIFT_MOST + 1)
        if not np.all(np.isin(shift[marked], known)) or not np.all(
            self._parent[self._node[marked]]
        ):
            raise self._file.damaged("a site in it was sampled at an odd interval")
        self._node[marked] = self._parent[self._node[marked]]
        return shift

    def _innermost(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The sites that have a stack, and the address that it begins with."""
        ids = np.flatnonzero((self._node > 0) & (self._node < len(self._address)))
        return ids, self._address[self._node[ids]]

    def stack(self, site: int) -> Stack | None:
        """None when no such site is visible."""
        if not 0 < site < len(self._node) or not self._node[site]:
            return None
        frames = []
        node = int(self._node[site])
        while node:
            frame, node = self._links.get(node) or self._link(node)
            frames.append(frame)
        if frames[-1].address >= schema.PSEUDO_END:
            return Stack(tuple(frames))
        return Stack(tuple(frames[:-1]), Pseudo(frames[-1].address))

    def _link(self, node: int) -> tuple[FrameAddress, int]:
        """The frame at a node and the node of its caller. Stacks share most of theirs."""
        frame = FrameAddress(int(self._address[node]), int(self._module[node]))
        self._links[node] = frame, int(self._parent[node])
        return self._links[node]

    def sites_like(self, site: int) -> NDArray[np.int64]:
        """All sites with the same stack, none when it is not visible."""
        if not 0 < site < len(self.canonical) or not self.canonical[site]:
            return np.empty(0, np.int64)
        return np.flatnonzero(self.canonical == self.canonical[site])

    def _merge(self) -> NDArray[np.int64]:
        canonical = np.zeros(len(self._node), np.int64)
        ids = np.flatnonzero(self._node)
        keys = self._node[ids] * 2 + self.is_annotated[ids]
        keys, lowest, back = np.unique(keys, return_index=True, return_inverse=True)
        shown_as = ids[lowest]
        fingerprints, roots = self._fingerprints(keys >> 1)
        outermost = self._address[roots]
        self.cut[ids] = np.where(outermost < schema.PSEUDO_END, signed(outermost), 0)[back]
        _, group, size = np.unique(fingerprints, return_inverse=True, return_counts=True)
        by_stack: dict[tuple[Stack | None, bool], int] = {}
        suspects = np.flatnonzero(size[group] > 1)
        for suspect in suspects[np.argsort(shown_as[suspects])]:
            site = int(shown_as[suspect])
            key = self.stack(site), bool(self.is_annotated[site])
            shown_as[suspect] = by_stack.setdefault(key, site)
        canonical[ids] = shown_as[back]
        return canonical

    def _fingerprints(
        self, nodes: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """A hash of each node's way to the root, and the outermost node on it; all ways walked at
        once and checked."""
        marks = _mix(self._address ^ _mix(self._module.astype(np.uint64)))
        prints = np.zeros(len(nodes), np.uint64)
        roots = np.zeros(len(nodes), np.int64)
        walking, at = np.arange(len(nodes)), nodes
        for _ in range(_MOST_FRAMES):
            self._check_nodes(at)
            prints[walking] = prints[walking] * _ODD + marks[at]
            roots[walking] = at
            at = self._parent[at]
            onward = at != 0
            walking, at = walking[onward], at[onward]
            if not len(at):
                return prints, roots
        raise self._file.damaged("a stack in it never ends")

    def _check_nodes(self, nodes: NDArray[np.int64]) -> None:
        if np.any(nodes >= len(self._address)) or not np.all(self._address[nodes]):
            raise self._file.damaged("a stack in it has missing frames")
        # A node is handed out after its parent.
        if np.any(self._parent[nodes] >= nodes):
            raise self._file.damaged("a stack in it runs in a circle")
        pseudo = nodes[self._address[nodes] < schema.PSEUDO_END]
        if np.any(self._parent[pseudo]) or np.any(self._address[pseudo] > schema.PSEUDO_OTHER):
            raise self._file.damaged("a stack in it ends for an unknown reason")


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(31))) * _ODD
    return values ^ (values >> np.uint64(29))
