"""Memory as text."""

from __future__ import annotations

from heapglass.views.core.hexdump import hexdump


def test_sixteen_bytes_a_line() -> None:
    assert list(hexdump(b"\x1919rtyui" + b"A\xff~\x7f" + b"\0" * 6, 0x55F3)) == [
        "55f3  19 31 39 72 74 79 75 69  41 ff 7e 7f 00 00 00 00  |.19rtyuiA.~.....|",
        "5603  00 00                                             |..|",
    ]


def test_nothing_is_no_line() -> None:
    assert list(hexdump(b"", 1)) == []
