"""A report's flame graph, by mouse and by keyboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from harness.browser import Show
from unit.fake_source import FakeSite, frame
from unit.web.told_heap import ToldHeap, told_heap

if TYPE_CHECKING:
    pass


def test_zoom_by_mouse_and_back(show: Show) -> None:
    report = show(told_heap())
    canvas = report.page.locator("#flame")
    canvas.hover(position={"x": 30, "y": 52})
    expect(report.page.get_by_role("tooltip")).to_contain_text("app::Server::run(app::Options")
    expect(report.page.get_by_role("tooltip")).to_contain_text("server.cc")
    canvas.click(position={"x": 30, "y": 52})
    expect(report.page.get_by_role("navigation", name="Zoom")).to_contain_text("app::Server::run")
    canvas.press("Escape")
    canvas.press("Escape")
    expect(report.page.get_by_role("navigation", name="Zoom")).to_be_hidden()
    report.page.go_back()
    expect(report.page.get_by_role("navigation", name="Zoom")).to_be_visible()


def test_the_flame_graph_by_keyboard(show: Show) -> None:
    report = show(told_heap())
    canvas = report.flame()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        canvas.press(key)
    expect(report.detail()).to_contain_text("load_configuration")
    canvas.press("ArrowLeft")
    expect(report.detail()).to_contain_text("app::Server::run")
    canvas.press("Enter")
    assert "zoom=" in report.page.url
    canvas.press("0")
    assert "zoom=" not in report.page.url


def test_callers_begin_with_those_who_allocate(show: Show) -> None:
    report = show(told_heap())
    report.page.get_by_label("Callers").check()
    canvas = report.flame()
    canvas.press("Home")
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("app::Index<std::basic_string")
    expect(report.detail()).to_contain_text("85% of all")
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("app::Server::run")


def test_plumbing_is_hidden_until_asked_for(show: Show) -> None:
    report = show(told_heap())
    canvas = report.flame()
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("main")
    canvas.press("a")
    expect(report.page.get_by_label("All frames")).to_be_checked()
    canvas.press("Home")
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("_start")


def test_a_function_is_hidden_and_brought_back(show: Show) -> None:
    report = show(told_heap())
    canvas = report.flame()
    canvas.press("ArrowDown")
    canvas.press("h")
    chip = report.page.get_by_role("button", name="Show main again")
    expect(chip).to_be_visible()
    canvas.press("Home")
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("app::Server::run")
    chip.click()
    expect(chip).to_have_count(0)


def test_the_deepest_stacks_are_drawn_to_their_end(show: Show) -> None:
    frames = (frame("innermost"), *(frame(f"f{n % 2}") for n in range(9_998)), frame("main"))
    site = FakeSite(frames, allocations=1, bytes_allocated=10, peak_bytes=10, peak_blocks=1)
    report = show(ToldHeap([site], told=(), remaining=()))
    extent = report.page.locator("#flame-extent")
    # Of the root and 10,000 frames all but those are scrolled to that fit the window.
    boxes = int(report.page.locator("#flame").get_attribute("data-boxes") or 0)
    assert boxes > 5
    rows = extent.evaluate("extent => extent.clientHeight") / 21
    assert rows + boxes == pytest.approx(10_001, abs=2)
    report.tab("Table")
    report.page.get_by_role("button", name="In the flame graph").click()
    expect(report.detail()).to_contain_text("innermost")
    report.page.get_by_label("Callers").check()
    report.flame().press("ArrowDown")
    expect(report.detail()).to_contain_text("innermost")


def test_search(show: Show) -> None:
    report = show(told_heap())
    report.page.keyboard.press("/")
    report.page.keyboard.type("LIBXML2")
    expect(report.page.locator("#found")).to_have_text("14% · 3.8 MiB")
    report.tab("Table")
    assert [name.split(" ")[0] for name in report.column(5)] == ["xmlStrndup"]
    report.page.get_by_role("searchbox").fill("nobody")
    expect(report.page.locator("#found")).to_have_text("no match")
    report.page.get_by_role("searchbox").press("Escape")
    expect(report.page.locator("#found")).to_have_text("")
    assert len(report.rows()) == 7


def test_the_function_of_a_box_is_found_in_the_table(show: Show) -> None:
    sites = [
        FakeSite((frame(name), frame("start_call_main")), allocations=1, peak_bytes=peak_bytes)
        for name, peak_bytes in (("call", 3 << 20), ("recall", 2 << 20), ("Call", 1 << 20))
    ]
    report = show(ToldHeap(sites, told=(), remaining=()))
    canvas = report.flame()
    for key in ("ArrowDown", "ArrowDown", "t"):
        canvas.press(key)
    assert report.column(0) == ["3.0 MiB"]
    expect(report.page.locator("#found")).to_have_text("50% · 3.0 MiB")
    expect(report.page.get_by_role("searchbox")).to_have_value('"call"')
    report.page.get_by_role("searchbox").fill("call")
    expect(report.page.locator("#found")).to_have_text("100% · 6.0 MiB")
    report.page.get_by_role("searchbox").fill('"call')  # as it is being typed
    expect(report.page.locator("#found")).to_have_text("no match")


def test_endless_names_are_told_apart_and_found(show: Show) -> None:
    deep = "Deep<" + "std::map<int, int>, " * 200 + "int>"
    sites = [
        FakeSite((frame(f"{deep}::{name}"), frame("main")), allocations=1, peak_bytes=peak_bytes)
        for name, peak_bytes in ((f"fill({deep})", 3 << 20), ("drain()", 1 << 20))
    ]
    report = show(ToldHeap(sites, told=(), remaining=()))
    expect(report.page.locator("#flame")).to_have_attribute("data-boxes", "4")
    report.page.get_by_role("searchbox").fill("fill")
    expect(report.page.locator("#found")).to_have_text("75% · 3.0 MiB")
    report.tab("Table")
    assert report.column(5) == ["Deep<…>::fill ← main"]
