from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heapglass.web.columns import Columns
from unit.web.unpacked import unpack

NUMBERS = st.lists(st.integers(-(2**52), 2**52))


@given(NUMBERS, NUMBERS)
def test_columns_come_back_as_they_were(plain: list[int], rising: list[int]) -> None:
    columns = Columns()
    columns.add("plain", np.array(plain, np.int64))
    columns.add("rising", np.array(rising, np.int64), is_rising=True)
    facts, found = unpack(columns.pack({"word": "ü </script>"}))
    assert facts == {"word": "ü </script>"}
    assert found == {"plain": plain, "rising": rising}


def test_small_numbers_take_one_byte_each() -> None:
    columns = Columns()
    columns.add("depth", np.arange(100_000), is_rising=True)
    assert len(columns.pack({})) < 1000
