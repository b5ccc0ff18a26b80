"""Numbers read eight characters at a time, against int()."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from heapglass.textlog.digits import PAD, read_decimals, read_hexadecimals, words_of

RANDOM = Random(5)  # noqa: S311
_ODD_WORDS = ["", "x", "1/2", "1:2", "-1", "+1", "1.0", "12g4", "G", "`", "@", "\x80", "0x12", "é"]


def places(words: list[str]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """A text of the words, and where they end and how long they are."""
    padding = b"\n" * PAD
    text, ends, lengths = bytearray(padding), [], []
    for word in words:
        octets = word.encode("latin-1", "replace")
        text += octets
        ends.append(len(text))
        lengths.append(len(octets))
        text += b" "
    return bytes(text + padding), np.array(ends), np.array(lengths)


def random_words(alphabet: str, count: int) -> list[str]:
    return ["".join(RANDOM.choices(alphabet, k=RANDOM.randint(1, 16))) for _ in range(count)]


def test_decimal_numbers_are_read() -> None:
    words = random_words("0123456789", 2000)
    text, ends, lengths = places(words)
    values, is_number = read_decimals(words_of(text), ends, lengths)
    assert is_number.all()
    assert values.tolist() == [int(word) for word in words]


def test_hexadecimal_numbers_are_read() -> None:
    words = random_words("0123456789abcdefABCDEF", 2000)
    text, ends, lengths = places(words)
    values, is_number = read_hexadecimals(words_of(text), ends, lengths)
    assert is_number.all()
    assert values.tolist() == [int(word, 16) for word in words]


@pytest.mark.parametrize("word", ["7", "4711", "1234567890123456"])
def test_equal_numbers_are_read(word: str) -> None:
    text, ends, lengths = places([word] * 5)
    values, is_number = read_decimals(words_of(text), ends, lengths)
    assert is_number.all()
    assert values.tolist() == [int(word)] * 5


def test_what_is_no_number_is_told() -> None:
    words = [*_ODD_WORDS, "1" * 17, "12345678:", "a2345678901234"]
    text, ends, lengths = places(words)
    assert not read_decimals(words_of(text), ends, lengths)[1].any()


def test_every_other_character_spoils_a_number() -> None:
    """At every place of a short and of a long one."""
    for digits, read, good in (
        ("12345678901", read_decimals, b"0123456789"),
        ("12345678901", read_hexadecimals, b"0123456789abcdefABCDEF"),
    ):
        for place in range(len(digits)):
            words = [digits[:place] + chr(c) + digits[place + 1 :] for c in range(256)]
            text, ends, lengths = places(words)
            assert read(words_of(text), ends, lengths)[1].tolist() == [
                c in good for c in range(256)
            ]
