"""What a person does with a report, and what they must then see."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from harness.browser import Opened, Show, open_report
from heapglass.model import GreatestRss, LossKind
from heapglass.web.document import ReportQuery, build_document
from heapglass.web.page import render_page, room_for_document
from unit.fake_source import FakeNames, FakeSite, frame
from unit.web.told_heap import ToldHeap, growing_heap, told_heap

if TYPE_CHECKING:
    from playwright.sync_api import Browser


# ---- what is shown at first


def test_headlines(show: Show) -> None:
    report = show(told_heap())
    expect(report.page.get_by_role("heading", level=1)).to_have_text("app --input 'data file.txt'")
    expect(report.page.locator("#state")).to_contain_text("exited with status 0 after 3.4 s")
    numbers = report.page.locator(".tile b").all_inner_texts()
    assert numbers == ["28.1 MiB", "20.2 MiB", "20.2 MiB", "3.1 GiB", "2.1 M", "2.1 M"]
    expect(report.tile("Peak")).to_have_attribute("aria-checked", "true")
    expect(report.page.locator("#resolution")).to_contain_text("3 snapshots, about one in 1.1 s")


def test_losses_and_cost_stand_at_the_top(show: Show) -> None:
    heap = told_heap()
    heap.loss_items = {
        LossKind.EARLY: 1,
        LossKind.SITES_FULL: 123_456,
        LossKind.STACK_NO_RULE: 70_000,
    }
    report = show(heap)
    line = report.page.locator("#caveats summary")
    expect(line).to_contain_text("2 things to know")
    expect(line).to_contain_text("heapglass took 3.0 MiB of memory")
    line.click()
    expect(report.page.locator("#caveat-list")).to_contain_text(
        "at code without unwind information"
    )

    expect(report.page.locator("#caveat-list")).not_to_contain_text("before recording could start")
    report.tab("About")
    about = report.page.locator("#view-about")
    expect(about.get_by_role("heading", name="Losses that change no number by 1 %")).to_be_visible()
    expect(about).to_contain_text("Missed 1 allocation made before recording could start")


def test_nothing_lost(show: Show) -> None:
    report = show(told_heap())
    expect(report.page.locator("#caveats summary")).to_contain_text("Complete and exact")
    report.tab("About")
    expect(report.page.locator("#view-about")).not_to_contain_text("Losses that")


def test_little_lost(show: Show) -> None:
    heap = told_heap()
    heap.peak_error_bytes, heap.usable_peak_error_bytes = 96 << 10, 128 << 10
    report = show(heap)
    line = report.page.locator("#caveats summary")
    expect(line).to_contain_text("Exact to 1 %")
    expect(line).not_to_contain_text("thing")
    report.tab("About")
    about = report.page.locator("#view-about")
    expect(about).to_contain_text("Nothing that changes a number by 1 %.")
    expect(about).to_contain_text("The peak may have been up to 96.0 KiB higher")
    expect(about).to_contain_text("up to 128 KiB off: threads tell of it in batches")


def test_all_memory_stands_beside_the_heaps_peak(show: Show) -> None:
    heap = told_heap()
    heap.greatest_rss = GreatestRss(104 << 20, 4 << 20, 104 << 20)
    report = show(heap)
    expect(report.tile("Peak")).to_contain_text("at 2.1 s · RSS 100 MiB")
    report.tab("About")
    expect(report.page.locator("#view-about")).to_contain_text(
        "RSS 100 MiB, heapglass's own taken out: at most 28.1 MiB of it was live heap."
    )
    report.pick(0.30)
    expect(report.tile("Peak")).not_to_contain_text("RSS")


# ---- measures and time


def test_tiles_choose_what_is_measured(show: Show) -> None:
    report = show(told_heap())
    report.flame()
    expect(report.detail()).to_contain_text("in use at the peak")
    expect(report.detail()).to_contain_text("28.1 MiB")
    report.tile("Temporary").click()
    report.flame().press("Home")
    expect(report.detail()).to_contain_text("temporary allocations")
    expect(report.detail()).to_contain_text("2,098,777")


def test_a_moment_is_picked_and_everything_follows(show: Show) -> None:
    report = show(told_heap())
    report.pick(0.30)
    expect(report.page.locator("#picked")).to_have_text("At 1.0 s")
    assert "at=0" in report.page.url
    # Now it is about what was in use then, not at the peak.
    expect(report.tile("Live")).to_have_attribute("aria-checked", "true")
    expect(report.tile("Live").locator("b")).to_have_text("981 KiB")
    report.flame().press("Home")
    expect(report.detail()).to_contain_text("981 KiB")
    report.tab("Table")
    assert report.column(1) == ["977 KiB", "4.0 KiB"]
    assert report.column(4) == ["20", "1"]
    report.page.get_by_role("button", name="Whole run").click()
    expect(report.tile("Live").locator("b")).to_have_text("20.2 MiB")
    expect(report.tile("Peak")).to_have_attribute("aria-checked", "true")


def test_a_window_is_dragged(show: Show) -> None:
    report = show(told_heap())
    report.pick(0.30, 0.88)
    expect(report.page.locator("#picked")).to_have_text("From 1.0 s to 3.0 s")
    report.tile("Allocations").click()
    # 124,701 until the end of it, 21 before.
    expect(report.tile("Allocations").locator("b")).to_have_text("125 k")
    # Site 2 grew by 20,971,520 - 1,000,000, the others by 76,543 and 163,840.
    expect(report.tile("Grown").locator("b")).to_have_text("19.3 MiB")
    # The peak itself was then.
    expect(report.tile("Peak").locator("b")).to_have_text("28.1 MiB")
    # All that remains of site 2 was allocated then; site 4's block came earlier.
    expect(report.tile("Leaked").locator("b")).to_have_text("20.0 MiB")
    expect(report.tile("Temporary")).to_contain_text("not known by time")


def test_the_peak_of_a_window_without_the_peak(show: Show) -> None:
    report = show(told_heap(), "#at=0-1&by=peak")
    expect(report.tile("Peak")).to_contain_text("highest snapshot, at 2.0 s")
    expect(report.tile("Peak").locator("b")).to_have_text("19.1 MiB")


def test_the_timeline_by_keyboard(show: Show) -> None:
    report = show(told_heap())
    slider = report.page.get_by_role("slider")
    slider.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "At 1.0 s")
    slider.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "At 2.0 s")
    slider.press("Shift+ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "From 2.0 s to 3.0 s")
    slider.press("Escape")
    expect(slider).to_have_attribute("aria-valuetext", "Whole run")


def test_marks_stand_on_the_timeline(browser: Browser, tmp_path: Path) -> None:
    heap = told_heap()
    query = ReportQuery(room_for_document())
    document = build_document(heap, FakeNames(heap), query, lambda *_: None)
    marked = replace(document, core=with_marks(document.core, [[2_000_000_000, "after <loading>"]]))
    path = tmp_path / "marked.html"
    path.write_text(render_page("app", marked), encoding="utf-8")
    with open_report(browser, path) as report:
        # Of 3.4 s, with seven pixels left free at each end.
        width = report.page.locator("#timeline").evaluate("canvas => canvas.clientWidth")
        x = 7 + (width - 14) * 2 / 3.4
        report.page.locator("#timeline").hover(position={"x": x, "y": 40})
        expect(report.page.get_by_role("tooltip")).to_contain_text("mark: after <loading>")


def with_marks(core: bytes, marks: list[list[int | str]]) -> bytes:
    whole = zlib.decompress(core)
    end = 4 + int.from_bytes(whole[:4], "little")
    text = json.dumps({**json.loads(whole[4:end]), "marks": marks}).encode()
    return zlib.compress(len(text).to_bytes(4, "little") + text + whole[end:])


# ---- the table


def test_rows_are_sorted_and_show_their_stacks(show: Show) -> None:
    report = show(told_heap(), "#view=table")
    assert report.column(0)[:3] == ["24.0 MiB", "3.8 MiB", "320 KiB"]
    report.page.get_by_role("button", name="Allocated").click()
    assert report.column(2)[:2] == ["3.0 GiB", "50.0 MiB"]
    expect(report.page.get_by_role("columnheader", name="Allocated")).to_have_attribute(
        "aria-sort", "descending"
    )
    report.page.get_by_role("button", name="Function").click()
    names = [name.split(" ")[0].lower() for name in report.column(5)]
    assert names == sorted(names, key=lambda name: name)
    report.page.locator("#rows-body tr", has_text="xmlStrndup").click()
    stack = report.page.get_by_label("Stack of the selected row")
    expect(stack).to_contain_text("/build/libxml2/xmlstring.c:42")
    expect(stack.locator("li.owner")).to_contain_text("xmlStrndup")
    expect(stack.locator("li")).to_have_count(8)


def test_a_column_that_is_left_out_has_a_stand_in(show: Show) -> None:
    report = show(told_heap(), "#view=table&by=live")
    expect(report.page.get_by_role("columnheader", name="Leaked")).to_have_attribute(
        "aria-sort", "descending"
    )
    report = show(told_heap(), "#view=table&by=temporary&at=1")
    expect(report.page.get_by_role("columnheader", name="Allocations")).to_have_attribute(
        "aria-sort", "descending"
    )


def test_rows_by_keyboard_and_into_the_flame_graph(show: Show) -> None:
    report = show(told_heap(), "#view=table")
    report.page.locator("#rows-body tr[tabindex='0']").press("ArrowDown")
    expect(report.page.locator("#rows-body tr[aria-selected='true']")).to_contain_text("xmlStrndup")
    report.page.get_by_role("button", name="In the flame graph").click()
    expect(report.detail()).to_contain_text("xmlStrndup")


def test_rows_are_grouped(show: Show) -> None:
    report = show(told_heap(), "#view=table")
    firsts = {"functions": "app::Index<…>::insert", "modules": "/usr/bin/app", "files": "inverted"}
    for group, first in firsts.items():
        report.page.get_by_label("Rows").select_option(label=group)
        assert first in report.column(5)[0]
        assert re.fullmatch(r"\d stacks?", report.column(6)[0])


def test_of_many_rows_only_those_in_sight_are_made(show: Show) -> None:
    sites = [
        FakeSite((frame(f"f{n:05}"), frame("main")), allocations=1, bytes_allocated=n, peak_bytes=n)
        for n in range(1, 501)
    ]
    report = show(ToldHeap(sites, told=(), remaining=()), "#view=table")
    assert len(report.rows()) < 100
    report.page.locator("#rows-body tr[tabindex='0']").press("End")
    expect(report.page.locator("#rows-body tr[aria-selected='true']")).to_contain_text("f00001")


def heads(report: Opened) -> list[str]:
    return [text.strip(" ↑↓") for text in report.page.locator("#rows-head th").all_inner_texts()]


def test_a_narrow_table_keeps_the_name_and_drops_columns(show: Show) -> None:
    report = show(growing_heap(), "#view=table")
    wide = ["Peak", "Leaked", "Allocated", "Allocations", "Temporary"]
    assert heads(report) == [*wide, "Function", "Where", "Trend"]
    narrow = {500: ["Function", "Peak", "Leaked", "Trend"], 400: ["Function", "Peak", "Trend"]}
    for width, columns in narrow.items():
        report.page.set_viewport_size({"width": width, "height": 900})
        expect(report.page.locator("#rows-head th")).to_have_count(len(columns))
        assert heads(report) == columns
        name = report.page.locator("#rows-body tr[data-row] td").first
        expect(name).to_contain_text("insert")
        box = name.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["width"] >= 150
        wide_rows, room = report.page.locator("#rows-scroll").evaluate(
            "one => [one.scrollWidth, one.clientWidth]"
        )
        assert wide_rows <= room
    report.tile("Allocations").click()
    assert heads(report) == ["Function", "Allocations", "Trend"]
    report.page.set_viewport_size({"width": 1280, "height": 720})
    expect(report.page.locator("#rows-head th")).to_have_count(8)


def test_growing_and_kept_stand_in_the_table(show: Show) -> None:
    report = show(growing_heap(), "#view=table&sort=trend")
    assert report.column(7)[:3] == ["growing", "kept", "recent"]
    expect(report.page.get_by_role("columnheader", name="Trend")).to_have_attribute(
        "aria-sort", "ascending"
    )
    expect(report.page.get_by_label("Stack of the selected row")).to_contain_text(
        "growing: came in all along, and became more"
    )
    expect(report.tile("Leaked")).to_contain_text("42.0 MiB growing")
    report.page.get_by_label("Rows").select_option(label="modules")
    assert "growing" in report.column(7)
    report.pick(0.30)  # of a moment nobody judges what remained at the end
    expect(report.page.locator("#rows-head th")).to_have_count(7)
    assert "Trend" not in heads(report)


# ---- the other views


def test_histograms_and_threads(show: Show) -> None:
    report = show(told_heap())
    report.tab("Sizes & lifetimes")
    sizes = report.page.get_by_label("Sizes asked for")
    expect(sizes.get_by_role("row", name=re.compile("^16 . 31 B"))).to_contain_text("1.8 M")
    expect(report.page.get_by_label("Lifetimes of freed blocks")).to_contain_text("below 1 ms")
    report.tab("Threads")
    expect(report.page.get_by_role("row", name=re.compile("worker"))).to_have_count(2)
    report.tab("About")
    expect(report.page.locator("#view-about")).to_contain_text("Nothing but the addresses")


# ---- links, themes, windows


def test_a_link_shows_the_same_again(show: Show) -> None:
    clipboard = ["clipboard-read", "clipboard-write"]
    report = show(told_heap(), permissions=clipboard)
    report.tile("Allocated").click()
    report.pick(0.30, 0.60)
    report.page.locator("#flame").click(position={"x": 30, "y": 52})
    report.page.get_by_role("searchbox").fill("index")
    report.page.get_by_role("button", name="Copy link").click()
    expect(report.page.locator("#share")).to_have_text("Copied")
    link = report.page.evaluate("navigator.clipboard.readText()")
    assert link == report.page.url
    fragment = "#" + link.split("#")[1]
    other = show(told_heap(), fragment)
    expect(other.tile("Allocated")).to_have_attribute("aria-checked", "true")
    expect(other.page.locator("#picked")).to_have_text("From 1.0 s to 2.0 s")
    expect(other.page.get_by_role("searchbox")).to_have_value("index")
    zoomed = report.page.get_by_role("navigation", name="Zoom").inner_text()
    expect(other.page.get_by_role("navigation", name="Zoom")).to_have_text(
        re.sub(r"\s+", " ", zoomed), use_inner_text=True
    )


def test_a_senseless_link_shows_the_whole(show: Show) -> None:
    report = show(told_heap(), "#at=99-2&zoom=x.9999&hide=-1&by=nothing&view=none")
    for fragment in ("#%%%", "#at=2-1&row=1e9", "#zoom=0.0.0&row=-1"):
        expect(report.tile("Peak").locator("b")).to_have_text("28.1 MiB")
        expect(report.page.locator("#flame")).to_have_attribute("data-boxes", re.compile("[1-9]"))
        report.page.evaluate("text => (location.hash = text)", fragment)
    expect(report.page.locator("#picked")).to_have_text("")


def test_light_and_dark(show: Show) -> None:
    report = show(told_heap(), color_scheme="dark")
    root = report.page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    dark = root.evaluate("element => getComputedStyle(element).backgroundColor")
    report.page.get_by_role("button", name="Light or dark").click()
    expect(root).to_have_attribute("data-theme", "light")
    assert root.evaluate("element => getComputedStyle(element).backgroundColor") != dark
    report.page.reload()
    expect(root).to_have_attribute("data-theme", "light")


def test_everything_fits_the_window(show: Show) -> None:
    report = show(told_heap())
    for width, height in ((1280, 720), (1024, 700), (400, 800)):
        report.page.set_viewport_size({"width": width, "height": height})
        for tab in ("Flame graph", "Table", "Sizes & lifetimes", "Threads", "About"):
            report.tab(tab)
            wide, high = report.page.evaluate(
                "[document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
            )
            assert wide <= width
            # On a laptop the page needs no scrolling.
            assert high <= height or width == 400


def test_everything_that_can_be_used_has_a_name(show: Show) -> None:
    report = show(told_heap())
    nameless = report.page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, canvas, [role]")]
            .filter((one) => !(one.ariaLabel || one.textContent.trim() || one.labels?.length
                || one.ariaLabelledByElements?.length || one.role === "tooltip"))
            .map((one) => one.outerHTML.slice(0, 90))"""
    )
    assert nameless == []


def test_a_long_command_is_cut_until_it_is_asked_for(show: Show) -> None:
    command = ("server", *(f"--option-number-{n}=value-{n}" for n in range(60)))
    report = show(ToldHeap(told_heap().made_of, argv=command))
    heading, more = report.page.get_by_role("heading", level=1), report.page.locator("#more")
    for size in ({"width": 1280, "height": 720}, {"width": 500, "height": 900}):
        report.page.set_viewport_size(size)  # type: ignore[arg-type]
        expect(more).to_have_text("more")
        before = heading.bounding_box()
        assert before is not None
        assert before["height"] < 45
        assert heading.get_attribute("title") == " ".join(command)
        more.click()
        expect(more).to_have_attribute("aria-expanded", "true")
        after = heading.bounding_box()
        assert after is not None
        assert after["height"] > 2 * before["height"]
        for one in ("#command", "#state"):
            assert report.page.locator(one).evaluate("one => one.scrollWidth <= one.clientWidth")
        more.click()
        expect(more).to_have_text("more")
    other = show(told_heap())
    expect(other.page.locator("#more")).to_be_hidden()
    other.page.set_viewport_size({"width": 500, "height": 900})
    expect(other.page.locator("#more")).to_be_visible()


def test_keys_work_after_a_click_on_a_box(show: Show) -> None:
    report = show(told_heap())
    page = report.page
    for label in ("Callers", "All frames"):
        page.get_by_label(label).click()
        expect(page.get_by_label(label)).to_be_focused()
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
    page.get_by_label("All frames").focus()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.type("a/i?")  # there they are letters
    expect(search).to_have_value("a/i?")
    expect(page.get_by_role("dialog")).to_be_hidden()
    report.tab("Table")
    page.get_by_label("Rows").focus()
    page.keyboard.press("/")
    expect(search).to_be_focused()


def test_keys_are_explained(show: Show) -> None:
    report = show(told_heap())
    report.page.locator("body").press("?")
    dialog = report.page.get_by_role("dialog")
    expect(dialog).to_contain_text("hide the box's function")
    report.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    tabs = report.page.get_by_role("tab", name="Flame graph")
    tabs.press("ArrowRight")
    expect(report.page.get_by_role("tab", name="Table")).to_be_focused()
