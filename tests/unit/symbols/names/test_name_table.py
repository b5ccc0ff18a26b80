"""Tables of names: what goes in comes out, and damage is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.symbols.names.location import Location
from heapglass.symbols.names.name_table import NameTable, encode_names
from heapglass.symbols.raw import SymbolError

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
locations = st.lists(st.builds(Location, texts, texts, st.integers(0, 2**32 - 1)), max_size=4)
keys = st.tuples(st.integers(-1, 100), st.integers(0, 2**64 - 1))


@given(names=st.dictionaries(keys, locations.map(tuple)), warnings=st.lists(texts))
def test_what_goes_in_comes_out(
    names: dict[tuple[int, int], tuple[Location, ...]], warnings: list[str]
) -> None:
    table = NameTable(encode_names(names, warnings))
    assert {key: table.get(key) for key in table} == names
    assert list(table.warnings) == warnings
    assert table.get((101, 0)) is None


def test_a_path_that_is_no_text_comes_out_as_it_was() -> None:
    odd = (Location("f", b"/\xff.c".decode("utf-8", "surrogateescape"), 3),)
    assert NameTable(encode_names({(0, 1): odd})).get((0, 1)) == odd


@given(data=st.data())
def test_damage_is_noticed_or_harmless(data: st.DataObject) -> None:
    names = {(0, at): (Location("f", "a.c", at), Location("g", "b.c", 2)) for at in range(9)}
    whole = bytearray(encode_names(names))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        table = NameTable(bytes(whole))
    except (SymbolError, UnicodeDecodeError):
        return
    for key in table:
        assert table.get(key) is not None


@pytest.mark.parametrize("length", [0, 19, 20, 44])
def test_a_table_that_is_cut_short(length: int) -> None:
    whole = encode_names({(0, 1): (Location("f", "a.c", 3),)})
    with pytest.raises(SymbolError):
        NameTable(whole[:length])
