from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.views.text.glyphs import ASCII, UNICODE, Glyphs, choose_glyphs, draw_bar


@pytest.mark.parametrize(
    ("encoding", "glyphs"),
    [("utf-8", UNICODE), ("UTF-16", UNICODE), ("ascii", ASCII), ("latin-1", ASCII), ("no", ASCII)],
)
def test_the_encoding_decides(encoding: str, glyphs: Glyphs) -> None:
    assert choose_glyphs(encoding) is glyphs


@given(st.floats(0, 1), st.integers(1, 40), st.sampled_from([UNICODE, ASCII]))
def test_bars_fit_and_show_anything_there_is(share: float, width: int, glyphs: Glyphs) -> None:
    bar = draw_bar(share, width, glyphs)
    assert len(bar) <= width
    assert bool(bar) is (share > 0)


def test_bars_are_drawn_to_an_eighth() -> None:
    assert draw_bar(1, 4, UNICODE) == "████"
    assert draw_bar(0.5, 4, UNICODE) == "██"
    assert draw_bar(0.28125, 4, UNICODE) == "█▏"
    assert draw_bar(-1, 4, UNICODE) == ""
    assert draw_bar(2, 4, ASCII) == "####"
