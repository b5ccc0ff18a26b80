"""How much of a long test runs: all of it in `make soak`, a fixed slice of it in `make test`.

HEAPGLASS_SOAK=1 in the environment asks for all of it. A slice is the same in every run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

WHOLE = os.environ.get("HEAPGLASS_SOAK") == "1"

T = TypeVar("T")


def amount(whole: int, part: int) -> int:
    """How many seeds, rounds or examples."""
    return whole if WHOLE else part


def cases(whole: Sequence[T], every: int) -> Sequence[T]:
    """Which of many cases: the first, and every so many after it."""
    return whole if WHOLE else whole[::every]
