"""Sizes, counts and durations as people read and write them.

Owns the wording of numbers and nothing else; it imports only the standard library. All output is
plain ASCII and never wider than 8 characters for a size and 6 for a compact count (up to the
largest unit), so columns can be laid out without looking at the values.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import Enum
from itertools import pairwise


class Units(Enum):
    """How sizes are counted: 1 KiB = 1024 B or 1 kB = 1000 B."""

    IEC = 1024
    SI = 1000


_SIZE_NAMES = {
    Units.IEC: ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"),
    Units.SI: ("B", "kB", "MB", "GB", "TB", "PB", "EB"),
}
_COUNT_NAMES = ("", " k", " M", " G", " T", " P", " E")
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kmgtpe]?)(i?)(b?)\s*", re.IGNORECASE)
_POWERS = "kmgtpe"
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)")
_TIME = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*(us|ms|s|m|h|d)?")

_US, _MS, _S = 10**3, 10**6, 10**9
_LONG_UNITS = (("d", 86_400 * _S), ("h", 3_600 * _S), ("m", 60 * _S), ("s", _S))
_TIME_UNITS = {"us": _US, "ms": _MS, **dict(_LONG_UNITS)}


def format_size(size: int, units: Units = Units.IEC) -> str:
    """`512 B`, `1.5 MiB`, `150 MiB`; one decimal below 100, none from there on."""
    if size < 0:
        return "-" + format_size(-size, units)
    names = _SIZE_NAMES[units]
    number, power = _scale(size, units.value, len(names) - 1)
    return f"{number} {names[power]}"


_LEAST_ERROR = 0.05  # which is shown as 0.1


def format_error(size: int, error: float, units: Units = Units.IEC) -> str:
    """The standard error of `size`, in the unit that this is shown in, `0.4`, unless it is too
    small to show there: `23.4 KiB`."""
    names = _SIZE_NAMES[units]
    _, power = _scale(abs(size), units.value, len(names) - 1)
    scaled = error / units.value**power
    return _error_text(scaled) if scaled >= _LEAST_ERROR else format_size(round(error), units)


def format_count_error(count: int, error: float) -> str:
    """The same behind a compact count."""
    power = 0 if abs(count) < 10_000 else _scale(abs(count), 1000, len(_COUNT_NAMES) - 1)[1]
    scaled = error / 1000**power
    return _error_text(scaled) if scaled >= _LEAST_ERROR else format_compact(round(error))


def size_with_error(size: int, error: float, sign: str, units: Units = Units.IEC) -> str:
    """Both in one unit, `12.3 ± 0.4 MiB`, or each in its own: `12.3 MiB ± 23.4 KiB`."""
    text, margin = format_size(size, units), format_error(size, error, units)
    return _joined(text, margin, sign, has_unit=" " in margin)


def count_with_error(count: int, error: float, sign: str) -> str:
    """`41.0 ± 0.9 k`, or `41.0 k ± 9`."""
    margin = format_count_error(count, error)
    is_small = abs(count) >= 10_000 and margin == format_compact(round(error))
    return _joined(format_compact(count), margin, sign, has_unit=is_small)


def _joined(text: str, margin: str, sign: str, *, has_unit: bool) -> str:
    number, gap, unit = text.partition(" ")
    return f"{text} {sign} {margin}" if has_unit else f"{number} {sign} {margin}{gap}{unit}"


def _error_text(error: float) -> str:
    return f"{error:.1f}" if error < 10 else f"{error:.0f}"


def format_count(count: int) -> str:
    """Every digit, in groups: `1,234,567`."""
    return f"{count:,}"


def format_compact(count: int) -> str:
    """At most three digits from ten thousand on: `9,999`, `12.3 k`, `123 M`."""
    if count < 0:
        return "-" + format_compact(-count)
    if count < 10_000:
        return f"{count:,}"
    number, power = _scale(count, 1000, len(_COUNT_NAMES) - 1)
    return f"{number}{_COUNT_NAMES[power]}"


def format_share(part: int, whole: int) -> str:
    """A percentage without decimals; `<1%` where zero would be a lie, `-` of nothing. An estimate
    may be more than the whole: it is all of it then."""
    if whole <= 0:
        return "-"
    percent = min(100.0, 100 * part / whole)
    if 0 < percent < 0.5:
        return "<1%"
    return f"{percent:.0f}%"


def format_duration(duration_ns: int) -> str:
    """Two units at most: `1.2 ms`, `3.4 s`, `2 m 5 s`, `2 h 5 m`, `3 d 4 h`."""
    if duration_ns < 0:
        return "-" + format_duration(-duration_ns)
    if duration_ns < _US:
        return f"{duration_ns} ns"
    for name, unit, limit in (("us", _US, _MS), ("ms", _MS, _S), ("s", _S, 60 * _S)):
        text = _decimal(duration_ns, unit)
        if Decimal(text) * unit < limit:
            return f"{text} {name}"
    return _long_duration(duration_ns)


def parse_size(text: str) -> int:
    """Bytes meant by `4096`, `64k` or `1.5MiB`; ValueError says what is wrong.

    Units are powers of 1024 with or without `B` or `iB`, as in the library's own variables, so
    that one text means one size wherever it is given.
    """
    match = _SIZE.fullmatch(text)
    if match is None or (match[3] and not match[2]):
        raise ValueError(
            f"'{text}' is not a size: write a number and a unit, such as 64k or 1.5MiB"
        )
    number, letter = match[1], match[2]
    power = _POWERS.index(letter.lower()) + 1 if letter else 0
    return int(Decimal(number) * 1024**power)


def parse_time(text: str) -> int:
    """Nanoseconds meant by `90`, `90s`, `1.5m`, `200ms`, `01:30` or `00:01:30`; ValueError says
    what is wrong. A number alone means seconds."""
    clock, time = _CLOCK.fullmatch(text.strip()), _TIME.fullmatch(text.strip())
    if clock is not None:
        minutes = int(clock[1] or 0) * 60 + int(clock[2])
        return int((minutes * 60 + Decimal(clock[3])) * _S)
    if time is not None:
        return int(Decimal(time[1]) * _TIME_UNITS[time[2] or "s"])
    raise ValueError(f"'{text}' is not a time: write 90s, 1.5m or 00:01:30")


def _scale(value: int, base: int, largest_power: int) -> tuple[str, int]:
    """The number as shown and the power of `base` it is shown in."""
    if value < base:
        return str(value), 0
    power = 1
    while power < largest_power and float(_decimal(value, base**power)) >= base:
        power += 1
    return _decimal(value, base**power), power


def _decimal(value: int, unit: int) -> str:
    # Integer arithmetic: a float would round 64-bit values before we do.
    tenths = (value * 10 + unit // 2) // unit
    if tenths < 1000:
        return f"{tenths // 10}.{tenths % 10}"
    return str((value + unit // 2) // unit)


def _long_duration(duration_ns: int) -> str:
    seconds = (duration_ns + _S // 2) // _S * _S
    for (name, unit), (minor_name, minor) in pairwise(_LONG_UNITS):
        if seconds >= unit:
            return f"{seconds // unit} {name} {seconds % unit // minor} {minor_name}"
    return f"{seconds // _S} s"
