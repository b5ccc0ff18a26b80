"""How large a report gets and how fast it is in a browser: a made-up heap in headless Chromium.

The heap has 50,000 sites, 200,000 boxes in its flame graph and 600 snapshots. --check fails when
the page is larger than 3 MB, is drawn later than 2 s after it was opened, or takes more than 100 ms
to zoom.
Needs Debian's chromium and the packages of `make setup`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from suite.made_heap import MadeHeap, MadeNames

from heapglass.web.document import ReportQuery
from heapglass.web.page import build_page, room_for_document

GOALS = {"page, bytes": 3_000_000, "first drawing, ms": 2000.0, "zoom, ms": 100.0}
WATCH = """
  window.drawn = [];
  window.asked = 0;
  for (const kind of ["click", "input", "keydown"])
    document.addEventListener(kind, () => { window.asked = performance.now(); }, true);
  const attributeFilter = ["data-boxes", "aria-rowcount"];
  new MutationObserver(() => window.drawn.push(performance.now()))
    .observe(document, { attributes: true, subtree: true, attributeFilter });
"""


def write_report(path: Path, sites: int) -> float:
    """Seconds of processor time that it took."""
    heap = MadeHeap(sites, random.Random(7))
    started = time.process_time()
    query = ReportQuery(room_for_document())
    page = build_page(heap, MadeNames(heap), query, lambda *_: None)
    path.write_text(page)
    return time.process_time() - started


def measure(page: Page) -> Iterator[tuple[str, float]]:
    page.wait_for_function("window.drawn.length > 0")
    yield "first paint, ms", page.evaluate("performance.getEntriesByType('paint')[0].startTime")
    yield "first drawing, ms", page.evaluate("window.drawn[0]")
    canvas = page.locator("#flame")
    canvas.focus()
    yield "zoom, ms", statistics.median(zoom(page) for _ in range(8))
    page.keyboard.press("0")
    for name, key in (("callers, ms", "i"), ("callees, ms", "i"), ("all frames, ms", "a")):
        yield name, answer(page, lambda key=key: page.keyboard.press(key))
    yield "search, ms", answer(page, lambda: page.locator("#search").fill("alloc"))
    tile = page.get_by_role("radio", name="Allocated")
    yield "other measure, ms", answer(page, tile.click)
    yield "table, ms", answer(page, page.get_by_role("tab", name="Table").click)
    page.get_by_role("tab", name="Flame graph").click()
    yield "moment, ms", answer(page, lambda: page.locator("#timeline").press("Home"))


def zoom(page: Page) -> float:
    page.keyboard.press("ArrowDown")
    return answer(page, lambda: page.keyboard.press("Enter"))


def answer(page: Page, act: Callable[[], None]) -> float:
    """Milliseconds from an event to the end of the drawing that it asked for."""
    page.wait_for_timeout(300)
    page.evaluate("window.drawn = []")
    act()
    page.wait_for_function("window.drawn.length > 0")
    taken: float = page.evaluate("window.drawn[0] - window.asked")
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=50_000)
    parser.add_argument("--page", type=Path, help="measure this page instead")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", type=Path, help="where to leave the page")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        path = args.page or args.keep or Path(scratch) / "report.html"
        found: dict[str, float] = {}
        if not args.page:
            found["making it, s of CPU"] = write_report(path, args.sites)
        found["page, bytes"] = path.stat().st_size
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
        page.add_init_script(WATCH)
        page.goto(path.resolve().as_uri())
        found |= dict(measure(page))
        browser.close()
    for name, value in found.items():
        goal = f"   goal {GOALS[name]:,.0f}" if name in GOALS else ""
        print(f"{name:<22} {np.round(value, 1):>12,}{goal}")
    missed = [name for name, goal in GOALS.items() if found[name] > goal]
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
