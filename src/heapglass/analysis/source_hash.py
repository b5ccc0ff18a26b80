"""A number for a call stack that is the same from run to run of the same binaries.

FNV-1a, 64 bits, over each frame from the innermost to the outermost: the bytes of its module's
build-id (of its file's name, without directories, if it has none), then the eight bytes, least
significant first, of the return address less the module's bias. docs/pmem-format.md has the same in
more words; the native library computes it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import fsencode
from posixpath import basename

import numpy as np

from heapglass.model import FrameAddress, Module, Stack
from heapglass.model.tables import U64

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_ADDRESS_SPACE = 1 << 64


def source_hash(stack: Stack, modules: Sequence[Module]) -> int:
    return int(source_hashes([stack], modules)[0])


def source_hashes(stacks: Sequence[Stack], modules: Sequence[Module]) -> U64:
    """One for each stack. All stacks advance together, frame by frame: there may be millions of
    frames, and byte by byte is too slow for them."""
    hashes: U64 = np.full(len(stacks), _BASIS)
    known: dict[FrameAddress, bytes] = {}
    depth = 0
    rows = [row for row, stack in enumerate(stacks) if stack.frames]
    while rows:
        by_length: dict[int, list[int]] = {}
        for row in rows:
            frame = stacks[row].frames[depth]
            if frame not in known:
                known[frame] = _frame_bytes(frame, modules)
            by_length.setdefault(len(known[frame]), []).append(row)
        for length, group in by_length.items():
            data = b"".join(known[stacks[row].frames[depth]] for row in group)
            hashes[group] = _advance(hashes[group], np.frombuffer(data, np.uint8), length)
        depth += 1
        rows = [row for row in rows if len(stacks[row].frames) > depth]
    return hashes


def _advance(hashes: U64, data: np.ndarray[tuple[int], np.dtype[np.uint8]], length: int) -> U64:
    for column in data.reshape(-1, length).T.astype(np.uint64):
        hashes = (hashes ^ column) * _PRIME
    return hashes


def _frame_bytes(frame: FrameAddress, modules: Sequence[Module]) -> bytes:
    """A frame in no module has its address alone, which differs from run to run."""
    if not 0 <= frame.module < len(modules):
        return frame.address.to_bytes(8, "little")
    module = modules[frame.module]
    name = bytes.fromhex(module.build_id) or fsencode(basename(module.path))
    return name + ((frame.address - module.bias) % _ADDRESS_SPACE).to_bytes(8, "little")
