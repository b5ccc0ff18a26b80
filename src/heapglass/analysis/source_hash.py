"""A number for a call stack that is the same from run to run of the same binaries.

FNV-1a, 64 bits, over each frame from the innermost to the outermost: the bytes of its module's
build-id (of its file's name, without directories, if it has none), then the eight bytes, least
significant first, of the return address less the module's bias. docs/pmem-format.md has the same in
more words; the native library computes it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from os import fsencode
from posixpath import basename

import numpy as np
from numpy.typing import NDArray

from heapglass.model import FrameAddress, Module, Stack
from heapglass.model.tables import U64

_BASIS = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_ADDRESS_SPACE = 1 << 64


def source_hash(stack: Stack, modules: Sequence[Module]) -> int:
    numbers = range(len(stack.frames))
    return int(source_hashes([numbers], stack.frames, modules)[0])


def source_hashes(
    stacks: Sequence[Sequence[int]], frames: Sequence[FrameAddress], modules: Sequence[Module]
) -> U64:
    """One for each stack, whose frames are positions in `frames`. All stacks advance together,
    frame by frame: there may be millions of frames, and byte by byte is too slow for them."""
    hashes: U64 = np.full(len(stacks), _BASIS)
    lengths = np.fromiter(map(len, stacks), np.int64, len(stacks))
    starts = np.cumsum(lengths) - lengths
    flat = np.fromiter(chain.from_iterable(stacks), np.int64, int(lengths.sum()))
    data, size = _matrix([_frame_bytes(frame, modules) for frame in frames])
    for depth in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > depth)
        at = flat[starts[rows] + depth]
        for length in np.unique(size[at]).tolist():
            some = size[at] == length
            hashes[rows[some]] = _advance(hashes[rows[some]], data[at[some], :length])
    return hashes


def _matrix(texts: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """One row for each, filled up with zeros, and how much of it counts."""
    size = np.fromiter(map(len, texts), np.int64, len(texts))
    widest = int(size.max(initial=0))
    whole = b"".join(text.ljust(widest, b"\0") for text in texts)
    return np.frombuffer(whole, np.uint8).reshape(len(texts), widest), size


def _advance(hashes: U64, data: NDArray[np.uint8]) -> U64:
    for column in data.T.astype(np.uint64):
        hashes = (hashes ^ column) * _PRIME
    return hashes


def _frame_bytes(frame: FrameAddress, modules: Sequence[Module]) -> bytes:
    """A frame in no module has its address alone, which differs from run to run."""
    if not 0 <= frame.module < len(modules):
        return frame.address.to_bytes(8, "little")
    module = modules[frame.module]
    name = bytes.fromhex(module.build_id) or fsencode(basename(module.path))
    return name + ((frame.address - module.bias) % _ADDRESS_SPACE).to_bytes(8, "little")
