from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.units import (
    Units,
    format_compact,
    format_count,
    format_count_error,
    format_duration,
    format_error,
    format_share,
    format_size,
    parse_size,
)

_MS, _S = 10**6, 10**9
U64 = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536 << 10, "1.5 MiB"),
        (100 << 10, "100 KiB"),
        (102_399, "100 KiB"),  # 99.999 KiB
        ((1 << 20) - 1, "1.0 MiB"),  # never "1024 KiB"
        (150 << 30, "150 GiB"),
        (2**64 - 1, "16.0 EiB"),
        (-2048, "-2.0 KiB"),
    ],
)
def test_sizes_in_powers_of_1024(size: int, text: str) -> None:
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 B"), (1000, "1.0 kB"), (1_500_000, "1.5 MB"), (999_999, "1.0 MB")],
)
def test_sizes_in_powers_of_1000(size: int, text: str) -> None:
    assert format_size(size, Units.SI) == text


@given(U64, st.sampled_from(Units))
def test_sizes_fit_their_column(size: int, units: Units) -> None:
    assert len(format_size(size, units)) <= 8


@given(U64)
def test_a_size_read_back_is_as_near_as_it_was_shown(size: int) -> None:
    shown = parse_size(format_size(size))
    assert abs(shown - size) <= size * 0.05 + 1
    assert format_size(shown) == format_size(size)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("4096b", 4096),
        ("64k", 65536),
        ("64K", 65536),
        ("1.5MiB", 1572864),
        ("1.5 mib", 1572864),
        (".5k", 512),
        ("10MB", 10 << 20),
        ("2kB", 2048),
        ("1g", 1 << 30),
        ("1T", 1 << 40),
        ("3EiB", 3 << 60),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "k", "iB", "12ib", "-1", "1..5", "1x", "1 k k", "0x10", "1e3"]
)
def test_what_is_no_size_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@given(U64)
def test_bare_numbers_round_trip(size: int) -> None:
    assert parse_size(str(size)) == size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (12_345, "12.3 k"),
        (99_999, "100 k"),
        (999_999, "1.0 M"),
        (123_456_789, "123 M"),
        (-20_000, "-20.0 k"),
    ],
)
def test_compact_counts(count: int, text: str) -> None:
    assert format_compact(count) == text


@given(U64)
def test_compact_counts_fit_their_column(count: int) -> None:
    assert len(format_compact(count)) <= 6


@given(st.integers(-(2**63), 2**63))
def test_full_counts_round_trip(count: int) -> None:
    assert int(format_count(count).replace(",", "")) == count


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(1, 4, "25%"), (0, 4, "0%"), (1, 1000, "<1%"), (5, 0, "-"), (3, 3, "100%"), (-1, 4, "-25%")],
)
def test_shares(part: int, whole: int, text: str) -> None:
    assert format_share(part, whole) == text


@pytest.mark.parametrize(
    ("duration_ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 us"),
        (999_999, "1.0 ms"),
        (1_200_000, "1.2 ms"),
        (345 * _MS, "345 ms"),
        (3_400 * _MS, "3.4 s"),
        (59_949 * _MS, "59.9 s"),
        (59_960 * _MS, "1 m 0 s"),
        (125 * _S, "2 m 5 s"),
        (7_500 * _S, "2 h 5 m"),
        (90_000 * _S, "1 d 1 h"),
        (-3 * _S, "-3.0 s"),
    ],
)
def test_durations(duration_ns: int, text: str) -> None:
    assert format_duration(duration_ns) == text


@pytest.mark.parametrize(
    ("size", "error", "text"),
    [
        (12_897_485, 419_430.0, "0.4"),
        (500, 17.4, "17"),
        (500, 1.26, "1.3"),
        (3 << 30, 1 << 20, "1.0 MiB"),
        (12_897_485, 3_000.0, "2.9 KiB"),
        (-2048, 1024.0, "1.0"),
    ],
)
def test_errors_are_shown_in_the_unit_of_the_size(size: int, error: float, text: str) -> None:
    assert format_error(size, error) == text


@pytest.mark.parametrize(
    ("count", "error", "text"), [(9_999, 120.0, "120"), (26_900, 4_196.0, "4.2"), (40, 4.0, "4.0")]
)
def test_errors_are_shown_in_the_unit_of_the_count(count: int, error: float, text: str) -> None:
    assert format_count_error(count, error) == text
