"""One browser for all tests of a worker, and reports of made-up heaps in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.browser import Opened, Show, open_browser, open_report
from heapglass.web.document import ReportQuery
from heapglass.web.page import build_page, room_for_document
from unit.fake_source import FakeNames

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from unit.web.told_heap import ToldHeap


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """`show(heap, fragment, **options of the browser)`; all are closed, and checked, at the end."""
    with ExitStack() as closing:

        def show_report(heap: ToldHeap, fragment: str = "", **options: Any) -> Opened:
            path = tmp_path / "report.html"
            query = ReportQuery(options.pop("room_bytes", None) or room_for_document())
            page = build_page(heap, FakeNames(heap), query, lambda *_: None)
            path.write_text(page, encoding="utf-8")
            return closing.enter_context(open_report(browser, path, fragment, **options))

        yield show_report
