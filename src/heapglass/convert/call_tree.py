"""Stacks as a recording has them: nodes, sites, and the generations of modules they lie in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from heapglass.model import FrameAddress, Module, Pseudo, Stack
from heapglass.recording import schema

_LOADED = 0xFFFFFFFF


@dataclass(slots=True)
class Generation:
    """A module while nodes with an id in [first, end) are made."""

    module: Module
    first: int
    end: int = _LOADED


@dataclass(slots=True)
class Node:
    address: int
    parent: int
    site: int = 0


@dataclass(slots=True)
class CallTree:
    """Nodes are made in the order of the stacks that need them. A module whose addresses another
    one takes over ends there; if it comes back that is a new generation."""

    modules: Sequence[Module]
    nodes: list[Node] = field(default_factory=lambda: [Node(0, 0)])
    generations: list[Generation] = field(default_factory=list)
    _index: dict[tuple[int, FrameAddress], int] = field(default_factory=dict)
    _loaded: dict[int, Generation] = field(default_factory=dict)

    def load_all(self) -> None:
        """Also the modules that no stack goes through, where they are in nobody's way."""
        for module in self.modules:
            taken = any(_overlap(module, other.module) for other in self._loaded.values())
            if not taken and module.start < module.end:
                self._load(module)

    def add(self, site: int, stack: Stack) -> int:
        """The innermost node of the stack, which is `site` from now on."""
        node = 0
        cut = stack.cut or (None if stack.frames else Pseudo.NO_RULE)
        if cut is not None:
            node = self._step(node, FrameAddress(int(cut), -1))
        for frame in reversed(stack.frames):
            node = self._step(node, frame)
        self.nodes[node].site = self.nodes[node].site or site
        return node

    def add_annotated(self, site: int, stack: Stack) -> int:
        """The node that marks the stack as one of annotated blocks, of `site`."""
        node = self._step(self.add(0, stack), FrameAddress(schema.PSEUDO_ANNOTATED, -1))
        self.nodes[node].site = site
        return node

    def _step(self, parent: int, frame: FrameAddress) -> int:
        known = self._index.get((parent, frame))
        if known is not None:
            return known
        if frame.address >= schema.PSEUDO_END:
            self._see_to(frame)
        self.nodes.append(Node(frame.address, parent))
        node = self._index[parent, frame] = len(self.nodes) - 1
        return node

    def _see_to(self, frame: FrameAddress) -> None:
        """From the next node on the frame's module, and no other, has its address."""
        if frame.module in self._loaded:
            return
        for index, generation in list(self._loaded.items()):
            module = generation.module
            is_in_the_way = module.start <= frame.address < module.end
            if frame.module >= 0:
                is_in_the_way = _overlap(module, self.modules[frame.module])
            if is_in_the_way:
                generation.end = len(self.nodes)
                del self._loaded[index]
        if frame.module >= 0:
            self._load(self.modules[frame.module])

    def _load(self, module: Module) -> None:
        generation = Generation(module, len(self.nodes))
        self._loaded[module.index] = generation
        self.generations.append(generation)


def _overlap(one: Module, other: Module) -> bool:
    return one.start < other.end and other.start < one.end
