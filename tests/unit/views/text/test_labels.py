from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.model import Frame, Pseudo
from heapglass.views.text.glyphs import ASCII, UNICODE, Glyphs
from heapglass.views.text.labels import (
    chain_links,
    chain_text,
    cut_text,
    full_place_text,
    function_text,
    place_text,
    short_name,
    shorten,
    shorten_path,
)
from unit.fake_source import frame

GLYPHS = st.sampled_from([UNICODE, ASCII])
NAMES = st.text(alphabet="ab:<>() ,&operatornew_", max_size=80)


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (None, "int app::Index<std::less<int>, 4>::insert(app::Document const&)"),
        (100, "app::Index<std::less<int>, 4>::insert"),
        (36, "app::Index<…>::insert"),
        (20, "…Index<…>::insert"),
        (16, "…insert"),
        (6, "insert"),
        (5, "i…ert"),
    ],
)
def test_names_give_way_from_the_outside_in(width: int | None, text: str) -> None:
    one = frame("int app::Index<std::less<int>, 4>::insert(app::Document const&)")
    assert short_name(one, width, UNICODE) == text


@given(NAMES, st.integers(0, 60), GLYPHS)
def test_a_short_name_fits(name: str, width: int, glyphs: Glyphs) -> None:
    assert len(short_name(frame(name), width, glyphs)) <= width


@given(st.text(max_size=40), st.integers(0, 50), GLYPHS)
def test_a_shortened_text_fits_and_keeps_its_ends(text: str, width: int, glyphs: Glyphs) -> None:
    short = shorten(text, width, glyphs)
    assert len(short) <= width
    if len(text) <= width:
        assert short == text
    elif width > len(glyphs.ellipsis):
        size = len(glyphs.ellipsis)  # what is left of a text may begin or end with dots of its own
        places = [at for at in range(len(short)) if short.startswith(glyphs.ellipsis, at)]
        ends = [(short[:at], short[at + size :]) for at in places]
        assert any(text.startswith(head) and text.endswith(tail) for head, tail in ends)


@given(st.text(max_size=40), st.integers(0, 50), GLYPHS)
def test_a_shortened_path_fits(text: str, width: int, glyphs: Glyphs) -> None:
    assert len(shorten_path(text, width, glyphs)) <= width


@given(st.lists(NAMES, max_size=8), st.integers(8, 80), GLYPHS)
def test_a_chain_fits(names: list[str], width: int, glyphs: Glyphs) -> None:
    assert len(chain_text([frame(name) for name in names], width, glyphs)) <= width


def test_a_chain_names_each_run_once_and_says_what_is_left_out() -> None:
    callers = [frame("f"), frame("f"), frame("g"), frame("main")]
    assert chain_text(callers, None, UNICODE) == "← f (2) ← g ← main"
    assert chain_text(callers, 18, UNICODE) == "← f (2) ← g ← main"
    assert chain_text(callers, 17, UNICODE) == "← f (2) ← g …"
    assert chain_text([], 17, UNICODE) == ""


def test_whole_links_say_how_many_more_there_are() -> None:
    callers = [frame("f"), frame("f"), frame("g<int>(int)"), frame("main")]
    assert chain_links(callers, 23, UNICODE) == ("← f (2) ", "← g<int> ", "← main ")
    assert chain_links(callers, 22, UNICODE) == ("← f (2) ", "and 2 more")
    assert chain_links(callers, 27, UNICODE) == ("← f (2) ", "← g<int> ", "← main ")
    assert chain_links(callers, 3, UNICODE) == ("← f (2) ", "and 2 more")
    assert chain_links(callers[:1], 3, UNICODE) == ("← f ",)
    assert chain_links([], 3, UNICODE) == ()


@given(st.lists(NAMES, max_size=8), st.integers(8, 80), GLYPHS)
def test_whole_links_fit_but_for_the_first(names: list[str], width: int, glyphs: Glyphs) -> None:
    links = chain_links([frame(name) for name in names], width, glyphs)
    assert len(links) <= 2 or len("".join(links).rstrip()) <= width
    assert bool(links) == bool(names)


def test_unknown_code_is_named_by_where_it_is() -> None:
    nowhere = Frame("", "", 0, "", 0x7F00, 0)
    inside = Frame("", "", 0, "/opt/libx.so", 0x7F00, 0x1F)
    assert function_text(nowhere) == "0x7f00"
    assert function_text(inside) == "libx.so+0x1f"
    assert place_text(nowhere) == place_text(inside) == ""


def test_places() -> None:
    known = frame("f", "/src/a/f.c", 12)
    assert place_text(known) == "f.c:12"
    assert full_place_text(known) == "/src/a/f.c:12"
    assert place_text(frame("f", "/src/a/f.c")) == "f.c"
    assert place_text(frame("f", module="/opt/libx.so")) == "libx.so"
    assert full_place_text(frame("f", module="/opt/libx.so")) == "/opt/libx.so"


def test_nothing_printed_can_move_the_cursor() -> None:
    evil = frame("f\x1b[31m", "/a\nb.c", 1, "/opt/\x07.so")
    for text in (function_text(evil), place_text(evil), full_place_text(evil)):
        assert text.isprintable()


@pytest.mark.parametrize("cut", Pseudo)
def test_every_cut_has_its_words(cut: Pseudo) -> None:
    assert cut_text(cut)
