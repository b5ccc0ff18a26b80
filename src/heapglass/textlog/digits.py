"""Numbers in a block of text, read eight characters at a time for all fields at once.

A field is given by where it ends and how long it is; the word of its last eight characters is
loaded as it lies in memory, so the first of them is in the lowest byte. What does not belong to
the field becomes a zero digit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from heapglass.textlog.entries import I64, U64, Flags

PAD = 16  # bytes that must lie before and behind the text of a block
LONGEST = 16  # digits

_NULS = np.uint64(0)
_ZEROS = np.uint64(0x3030303030303030)
_TOPS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_LOWS = np.uint64(0x0F0F0F0F0F0F0F0F)
# By a field's length: bits at the low end of its word that are not of it.
_FOREIGN = np.array([56, 56, 48, 40, 32, 24, 16, 8, 0], np.uint64)


def words_of(padded: bytes) -> U64:
    """The word at each byte; no copy."""
    return np.ndarray((len(padded) - 7,), "<u8", padded, strides=(1,))


def read_decimals(words: U64, end: I64, length: I64) -> tuple[I64, Flags]:
    """Values, and which of the fields are numbers of 1 to 16 digits."""
    value, is_good = _once(_decimal, last_eight(words, end, length, _ZEROS))
    is_long = length > 8
    if is_long.any():
        rest = last_eight(words, end[is_long] - 8, length[is_long] - 8, _ZEROS)
        high, is_high_good = _once(_decimal, rest)
        value[is_long] += high * np.uint64(10**8)
        is_good[is_long] &= is_high_good
    return value.view(np.int64), is_good & (length > 0) & (length <= LONGEST)


def read_hexadecimals(words: U64, end: I64, length: I64) -> tuple[U64, Flags]:
    """Likewise for 1 to 16 hexadecimal digits."""
    value, is_good = _once(_hexadecimal, last_eight(words, end, length, _ZEROS))
    is_long = length > 8
    if is_long.any():
        rest = last_eight(words, end[is_long] - 8, length[is_long] - 8, _ZEROS)
        high, is_high_good = _once(_hexadecimal, rest)
        value[is_long] |= high << np.uint64(32)
        is_good[is_long] &= is_high_good
    return value, is_good & (length > 0) & (length <= LONGEST)


def last_eight(words: U64, end: I64, length: I64, fill: np.uint64 = _NULS) -> U64:
    """The last eight characters of each field; bytes of `fill` where it is shorter."""
    foreign = _FOREIGN.take(length, mode="clip")
    texts: U64 = ((words[end - 8] ^ fill) >> foreign << foreign) ^ fill
    return texts


def _once(read: Callable[[U64], tuple[U64, Flags]], texts: U64) -> tuple[U64, Flags]:
    """Read all, or one of them where all are the same, as process ids and upper halves of addresses
    mostly are."""
    if len(texts) and texts[0] == texts[-1] and bool(np.all(texts == texts[0])):
        value, is_good = read(texts[:1])
        return np.full(len(texts), value[0]), np.full(len(texts), is_good[0])
    return read(texts)


def _decimal(text: U64) -> tuple[U64, Flags]:
    digits = text ^ _ZEROS
    # A byte is above 9 when adding 0x76 carries into its top bit, or the top bit was set.
    is_good = ((digits + np.uint64(0x7676767676767676)) | digits) & _TOPS == 0
    digits = digits * np.uint64(10) + (digits >> np.uint64(8))
    mask = np.uint64(0x000000FF000000FF)
    upper = (digits & mask) * np.uint64(0x000F424000000064)
    lower = (digits >> np.uint64(16) & mask) * np.uint64(0x0000271000000001)
    return (upper + lower) >> np.uint64(32), is_good


def _hexadecimal(text: U64) -> tuple[U64, Flags]:
    plain = text & ~_TOPS
    lower = plain | np.uint64(0x2020202020202020)
    # Each sum has a byte's top bit where the byte is at least '0', ':', 'a', 'g'.
    is_digit = (plain + np.uint64(0x5050505050505050)) & ~(plain + np.uint64(0x4646464646464646))
    is_letter = (lower + np.uint64(0x1F1F1F1F1F1F1F1F)) & ~(lower + np.uint64(0x1919191919191919))
    is_good = ((is_digit | is_letter) & ~text & _TOPS) == _TOPS
    nibbles = (text & _LOWS) + (text >> np.uint64(6) & _ONES) * np.uint64(9)
    for bits, mask in ((4, 0x00FF00FF00FF00FF), (8, 0x0000FFFF0000FFFF), (16, 0xFFFFFFFF)):
        nibbles = nibbles << np.uint64(bits) | nibbles >> np.uint64(2 * bits)
        nibbles &= np.uint64(mask)
    return nibbles, is_good
