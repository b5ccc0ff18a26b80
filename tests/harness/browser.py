"""A report in a real browser, used as a person would; anything it complains about is an error."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

expect.set_options(timeout=60_000)  # a loaded machine is no failure


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Debian's; an error, never a skip, when it is not installed."""
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed: run tools/install-packages.sh"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], timeout=120_000
        )
        yield browser
        browser.close()


@dataclass
class Opened:
    """A report as it lies open. `problems`: what the console said, and requests that were made."""

    page: Page
    problems: list[str]

    def tile(self, name: str) -> Locator:
        return self.page.get_by_role("radio", name=name)

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def flame(self) -> Locator:
        """The flame graph, focused."""
        canvas = self.page.locator("#flame")
        canvas.focus()
        return canvas

    def detail(self) -> Locator:
        return self.page.locator("#flame-detail")

    def rows(self) -> list[list[str]]:
        """The texts of the rows in sight, cell by cell."""
        return [
            row.locator("td").all_inner_texts()
            for row in self.page.locator("#rows-body tr[data-row]").all()
        ]

    def column(self, number: int) -> list[str]:
        return [cells[number] for cells in self.rows()]

    def pick(self, share: float, until: float | None = None) -> None:
        """Click on the timeline, or drag over a part of it."""
        box = self.page.locator("#timeline").bounding_box()
        assert box is not None
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + share * box["width"], y)
        self.page.mouse.down()
        if until is not None:
            self.page.mouse.move(box["x"] + until * box["width"], y, steps=4)
        self.page.mouse.up()


Show = Callable[..., Opened]  # of a heap: see conftest.py of the browser's tests


@contextmanager
def open_report(
    browser: Browser, path: Path, fragment: str = "", **options: Any
) -> Iterator[Opened]:
    """In a window of 1280 by 720, or as the options say; fails if anything went wrong in it."""
    options = {"viewport": {"width": 1280, "height": 720}, "reduced_motion": "reduce", **options}
    context = browser.new_context(**options)
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    own = re.compile(re.escape(path.as_uri()) + r"(#.*)?|data:.*", re.DOTALL)
    page.on("request", lambda one: own.fullmatch(one.url) or problems.append(one.url))
    page.goto(path.as_uri() + fragment)
    expect(page.locator("#loading")).to_have_count(0)
    yield Opened(page, problems)
    assert problems == []
    context.close()
