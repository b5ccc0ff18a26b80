"""Reports of heaps that are not as usual: hostile, empty, sampled, killed, alive, full."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from harness.browser import Show
from heapglass.model import LiveUnit, ProcessState
from heapglass.units import format_size as size_text
from unit.cli.sample_heap import SITES
from unit.fake_source import SAMPLE_BYTES, FakeSite, frame
from unit.web.told_heap import ToldHeap, silent_heap, told_heap

if TYPE_CHECKING:
    pass


HOSTILE = (
    '</script><script>document.title="taken"</script><img src=x onerror=alert(1)>"\'&\u202e😀\x00'
)


def test_hostile_names_are_shown_as_they_are(show: Show) -> None:
    site = FakeSite(
        (frame(HOSTILE, HOSTILE, 3, f"/lib/{HOSTILE}"), frame("main")),
        allocations=1,
        bytes_allocated=10,
        peak_bytes=10,
        peak_blocks=1,
    )
    heap = ToldHeap([site], argv=(HOSTILE,), told=(), remaining=(), thread_names=((HOSTILE, 0),))
    report = show(heap, "#view=table")
    assert report.page.title() != "taken"
    assert report.page.locator("script:not([type=module])").count() == 0
    assert report.page.locator("img").count() == 0
    expect(report.page.locator("#stack h3")).to_contain_text('<script>document.title="taken"')
    report.tab("Threads")
    expect(report.page.locator("#view-threads")).to_contain_text("<img src=x onerror=alert(1)>")
    report.tab("Flame graph")
    report.flame().press("ArrowDown")
    report.page.locator("#flame").hover(position={"x": 50, "y": 52})
    expect(report.page.get_by_role("tooltip")).to_contain_text("</script>")


def test_a_program_that_never_allocated(show: Show) -> None:
    report = show(silent_heap())
    assert report.page.locator(".tile b").all_inner_texts() == ["0 B"] * 4 + ["0"] * 2
    expect(report.page.locator("#resolution")).to_contain_text("a shorter --snapshot")
    report.pick(0.5)
    for key in ("ArrowDown", "Enter", "i", "h", "t"):
        report.flame().press(key)
    report.tab("Table")
    expect(report.page.locator("#rows-body")).to_contain_text("No rows.")
    report.tab("Sizes & lifetimes")
    expect(report.page.get_by_label("Sizes asked for")).to_contain_text("None.")


def test_sampled_sites_show_their_errors(show: Show) -> None:
    heap = told_heap()
    heap.made_of = [replace(site, samples=9) for site in SITES[:5]]
    heap.mode, heap.live_unit, heap.sample_interval = "sampled", LiveUnit.USABLE, SAMPLE_BYTES
    report = show(heap, "#view=table")
    expect(report.page.locator("#caveats summary")).to_contain_text("Sampled once in about 512 KiB")
    expect(report.page.locator("#stack")).to_contain_text("24.0 ± 2.4 MiB")
    report.tab("Flame graph")
    canvas = report.flame()
    canvas.press("ArrowDown")
    expect(report.detail()).to_contain_text("±")


def test_estimates_fit_their_tiles(show: Show) -> None:
    site = FakeSite(
        (frame("f"), frame("main")), samples=1, allocations=9_000, bytes_allocated=1023 << 20
    )
    heap = ToldHeap([site], told=[(10**9, {2: (9_000, 1023 << 20, 9_000, 1023 << 20)})])
    heap.remaining = [(2, 1023 << 20, 5 * 10**8)]
    heap.mode, heap.live_unit, heap.sample_interval = "sampled", LiveUnit.USABLE, SAMPLE_BYTES
    report = show(heap, "#at=0")
    texts = report.page.locator(".tile b").all_inner_texts()
    assert texts[1] == "1023 ± 102 MiB"
    for width in (320, 360, 401, 521, 571, 901, 960, 1000, 1024, 1121, 1280):
        report.page.set_viewport_size({"width": width, "height": 800})
        too_wide = report.page.evaluate(
            """() => [...document.querySelectorAll(".tile b")]
                .filter((number) => number.scrollWidth > number.clientWidth)
                .map((number) => number.textContent)"""
        )
        assert (width, too_wide) == (width, [])


def test_a_killed_program_left_its_memory(show: Show) -> None:
    heap = told_heap()
    heap.state, heap.exit_status = ProcessState.KILLED, None
    report = show(heap)
    expect(report.page.locator("#state")).to_contain_text("killed, last seen after 3.4 s")
    expect(report.tile("Left at the end").locator("b")).to_have_text("20.2 MiB")


def test_a_running_program_is_looked_at_live(show: Show) -> None:
    heap = told_heap()
    heap.state, heap.exit_status = ProcessState.RUNNING, None
    report = show(heap)
    expect(report.tile("Live")).to_have_attribute("aria-checked", "true")
    expect(report.tile("Still in use").locator("b")).to_have_text("20.2 MiB")


def test_changes_too_small_to_keep_are_shown_together(show: Show) -> None:
    random = Random(5)  # noqa: S311 (repeatable is what it must be)
    sites = [
        FakeSite((frame(f"f{n}"), frame("main")), allocations=9, bytes_allocated=9000)
        for n in range(300)
    ]
    told = []
    for second in range(30):
        sizes = {site: random.randint(1, 9999) for site in range(2, 302)}
        counts = {site: (1, size, 9, 99_000) for site, size in sizes.items()}
        told.append((second * 10**8, counts))
    report = show(ToldHeap(sites, told=told, remaining=()), "#at=29&by=live", room_bytes=20_000)
    expect(report.page.locator("#caveat-list")).to_contain_text("are carried on")
    expect(report.tile("Live").locator("b")).to_have_text(size_text(sum(sizes.values())))
    report.page.get_by_role("searchbox").fill("too small to keep")
    expect(report.page.locator("#found")).to_contain_text("KiB")
