from __future__ import annotations

from heapglass.views.text.glyphs import ASCII, UNICODE, draw_columns
from heapglass.views.text.plot import Axis, draw_area, draw_plot, place_labels, spread


def test_the_highest_fills_its_column_and_little_is_seen() -> None:
    assert draw_area([0, 1, 50, 100], 2, UNICODE) == ["   █", " ▁██"]
    assert draw_area([0, 1, 100], 2, ASCII) == ["  #", " ##"]


def test_nothing_is_empty() -> None:
    assert draw_area([0, 0], 2, UNICODE) == ["  ", "  "]
    assert draw_columns([0, 0], UNICODE) == "··"
    assert draw_columns([], UNICODE) == ""


def test_little_plots() -> None:
    assert draw_columns([0, 1, 500, 1000], UNICODE) == "·▁▄█"
    assert draw_columns([0, 1, 500, 1000], ASCII) == ".159"


def test_a_plot_has_its_axes() -> None:
    lines = draw_plot([1, 2, 3, 4, 5, 6], 2, Axis("0", "3", "6"), Axis("a", "b", "c"), ASCII)
    assert lines == ["6 +    ##", "3 +######", "0 +------", "   a  b c"]


def test_labels_are_spread_and_give_way() -> None:
    assert spread(Axis("0", "1 s", "2 s"), 21) == "0        1 s      2 s"
    assert spread(Axis("0 ns", "1.5 s", "3.0 s"), 12) == "0 ns   3.0 s"


def test_labels_stand_at_their_columns() -> None:
    labels = [(0, "loaded"), (4, "served"), (12, "done"), (19, "ended")]
    lines, left_out = place_labels(labels, 20, 3, ASCII)
    assert lines == ["^ loaded    ^ done", "    ^ served", "             ended ^"]
    assert left_out == []
    assert place_labels(labels, 20, 1, ASCII) == (["^ loaded    ^ done"], [1, 3])
    assert place_labels([(1, "a" * 30)], 20, 1, ASCII)[0][0].startswith(" ^ a")
    assert len(place_labels([(15, "a" * 30)], 20, 1, ASCII)[0][0]) <= 20
    assert place_labels([], 20, 1, ASCII) == ([], [])


def test_a_label_that_may_not_be_shortened_is_left_out() -> None:
    labels = [(0, "loaded"), (2, "a" * 30), (12, "done")]
    placed = place_labels(labels, 20, 3, ASCII, is_cut=False)
    assert placed == (["^ loaded    ^ done"], [1])
