"""The ledger: every live block, from the shadows of the heap and from the table of large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from heapglass.recording import schema
from heapglass.recording.file.header import GRANULE_SHIFTS
from heapglass.recording.tables.columns import signed, view

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from heapglass.recording.file.image import Image

_LEAF_BYTES = schema.LEDGER_RECORDS * 8
_MIDDLE_BYTES = schema.MIDDLE_RECORDS * schema.Middle.SIZE
_ADDRESS_END = 1 << 47  # blocks above are in LARGE
_BIRTHS = 1 << schema.LEDGER_BIRTH_BITS
_BIRTH_SHIFT = schema.LEDGER_SIZE_BITS + schema.LEDGER_HALF_BITS


@dataclass(frozen=True, slots=True)
class Blocks:
    """Live blocks as recorded: birth as a code, site before equal ones are merged."""

    address: NDArray[np.uint64]
    size: NDArray[np.int64]
    site: NDArray[np.int64]
    birth: NDArray[np.int64]


def read_blocks(image: Image) -> Blocks:
    """In order of address. A block that moved between two of the tables while they were read is
    there once, as it was born last."""
    tables = _small(image), read_middle(image), read_large(image)
    both = [
        np.concatenate([getattr(table, name) for table in tables])
        for name in ("address", "size", "site", "birth")
    ]
    address, birth = both[0], both[3]
    order = np.lexsort((birth, address))
    is_last = np.append(address[order][1:] != address[order][:-1], True)[: len(order)]
    return Blocks(*(column[order[is_last]] for column in both))


def _small(image: Image) -> Blocks:
    words, addresses = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for extent in image.extents(schema.KIND_LEDGER):
        shift = _granule_shift(image, extent)
        leaf = np.frombuffer(_read_leaf(image, extent, _LEAF_BYTES, shift), "<u8")
        taken = np.flatnonzero(leaf)
        half = (leaf[taken] >> np.uint64(schema.LEDGER_SIZE_BITS) & np.uint64(1)).astype(np.int64)
        words.append(leaf[taken])
        addresses.append((extent.first + (2 * taken + half << shift - 1)).astype(np.uint64))
    return _unpack(np.concatenate(addresses), np.concatenate(words))


def read_middle(image: Image) -> Blocks:
    tables = [view(b"", schema.Middle)]
    for extent in image.extents(schema.KIND_MIDDLE):
        shift = _granule_shift(image, extent)
        leaf = view(_read_leaf(image, extent, _MIDDLE_BYTES, shift), schema.Middle)
        taken = np.flatnonzero(leaf["record"])
        tables.append(leaf[taken])
        if np.any(leaf["address"][taken] >> np.uint64(shift) != (extent.first >> shift) + taken):
            raise image.file.damaged("a block in it is not where its address belongs")
    blocks = np.concatenate(tables)
    return _unpack(blocks["address"].copy(), blocks["record"].copy())


def _granule_shift(image: Image, extent: schema.Extent) -> int:
    shift = extent.owner // schema.LEAF_GRANULE or image.header.granule_shift
    if shift not in GRANULE_SHIFTS:
        raise image.file.damaged(f"a leaf of the ledger has granules of 2^{shift} bytes")
    return shift


def _read_leaf(image: Image, extent: schema.Extent, size: int, shift: int) -> bytes:
    record = schema.Middle.SIZE if extent.kind == schema.KIND_MIDDLE else 8
    reach = size // record << shift
    if extent.length != size or extent.first % reach or extent.first > _ADDRESS_END - reach:
        raise image.file.damaged("an extent of the ledger has an odd size or start")
    return image.file.read(extent.offset, size)


def _unpack(address: NDArray[np.uint64], word: NDArray[np.uint64]) -> Blocks:
    birth = word >> np.uint64(_BIRTH_SHIFT) & np.uint64(_BIRTHS - 1)
    site = word >> np.uint64(_BIRTH_SHIFT + schema.LEDGER_BIRTH_BITS)
    size = word & np.uint64((1 << schema.LEDGER_SIZE_BITS) - 1)
    return Blocks(address, signed(size), signed(site), signed(birth))


def read_large(image: Image) -> Blocks:
    """But for annotated blocks, which lie inside of others."""
    tables = [view(b"", schema.Large)]
    for extent in image.extents(schema.KIND_LARGE):
        slots = view(image.file.read(extent.offset, extent.length), schema.Large)
        address = slots["address"]
        tables.append(slots[(address > 1) & (address < schema.LARGE_ANNOTATED)])
    taken = np.concatenate(tables)
    if np.any(taken["birth"] >= _BIRTHS) or np.any(taken["size"] >> np.uint64(63)):
        raise image.file.damaged("a large block in it makes no sense")
    return Blocks(
        taken["address"].copy(),
        signed(taken["size"]),
        signed(taken["site"]),
        signed(taken["birth"]),
    )


def birth_ns(code: NDArray[np.int64]) -> NDArray[np.int64]:
    """Birth codes as ns since start, exact or rounded down; see format.h."""
    bits = schema.BIRTH_MANTISSA_BITS
    exponent = np.maximum((code >> bits) - 1, 0)
    mantissa = (1 << bits) + (code & ((1 << bits) - 1))
    ticks = np.where(code < 2 << bits, code, mantissa << exponent)
    return ticks << schema.TICK_SHIFT


def latest_birth_ns(birth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Before when each of these births was, as they are rounded down."""
    step = np.maximum(1 << schema.TICK_SHIFT, birth >> schema.BIRTH_MANTISSA_BITS)
    latest: NDArray[np.int64] = birth + step
    return latest
