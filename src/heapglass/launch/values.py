"""What an option of `heapglass run`, and the variable that stands for it, may hold.

Each function takes the text as given; a ValueError says what is wrong with it.
"""

from __future__ import annotations

MOST_DEPTH = 4096
LEAST_MEMORY = 4 << 20
MOST_SECONDS = 10**9
LEAST_SAMPLE, MOST_SAMPLE = 256, 1 << 30
DEFAULT_SAMPLE = "512k"
LEAST_BUDGET, MOST_BUDGET = 100, 10**9  # parts per million
_MOST_DIGITS = 20  # of 64 bits


def read_depth(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_DEPTH):
        raise ValueError(f"{text} is not a number of frames from 1 to {MOST_DEPTH}")
    return int(text)


def read_descriptor(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 1 << 31):
        raise ValueError(f"{text} is not the number of a descriptor")
    return int(text)


def read_seconds(text: str) -> str:
    """Checked, and as written: the library reads it too."""
    whole, _, fraction = text.partition(".")
    is_number = whole.isdecimal() and (fraction + "0").isdecimal() and text.isascii()
    if not is_number or int(whole) > MOST_SECONDS:
        raise ValueError(f"{text} is not a number of seconds such as 1 or 0.25")
    return text


def read_churn(text: str) -> int:
    return _read_size(text, least=0)


def read_memory(text: str) -> int:
    return _read_size(text, least=LEAST_MEMORY)


def read_sample(text: str) -> str:
    """A sampling interval, a power of two as the library makes it; "0" is none, "auto" stays."""
    if text in ("auto", "0"):
        return text
    size = _read_size(text, least=0)
    if not LEAST_SAMPLE <= size <= MOST_SAMPLE:
        raise ValueError(f"{text} is not between 256 B and 1 GiB")
    return str(1 << (size - 1).bit_length())


def read_budget(text: str) -> int:
    """A percentage, with or without its sign and a fraction, as parts per million."""
    whole, _, fraction = text.removesuffix("%").partition(".")
    is_number = text.isascii() and whole.isdecimal() and (fraction + "0").isdecimal()
    budget = 0
    if is_number and len(whole) < _MOST_DIGITS:
        budget = int(whole) * 10_000 + int((fraction + "0000")[:4])
    if not LEAST_BUDGET <= budget <= MOST_BUDGET:
        raise ValueError(f"{text} is not a percentage such as 3% or 0.5%")
    return budget


def read_seed(text: str) -> int:
    is_number = text.isascii() and text.isdecimal()
    if not is_number or len(text.lstrip("0")) > _MOST_DIGITS or int(text) >= 1 << 64:
        raise ValueError(f"{text} is not a whole number")
    return int(text)


def is_sample(word: str) -> bool:
    """Whether a word behind --sample can be its value, rather than the command to run."""
    return word == "auto" or word[:1].isdecimal()


def read_full(text: str) -> str:
    return _read_word(text, "wait", "drop")


def read_flush(text: str) -> str:
    return _read_word(text, "10ms", "entry")


def read_switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"{text} is not 0 or 1")
    return text == "1"


def _read_word(text: str, *words: str) -> str:
    if text not in words:
        raise ValueError(f"{text} is not {' or '.join(words)}")
    return text


def _read_size(text: str, *, least: int) -> int:
    from heapglass.units import format_size, parse_size  # noqa: PLC0415 (rarely needed)

    size = parse_size(text)
    if not least <= size < 1 << 63:
        raise ValueError(f"{text} is not between {format_size(least)} and 8 EiB")
    return size
