from __future__ import annotations

import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from heapglass.web.document import Document, ReportQuery
from heapglass.web.page import LIMIT_BYTES, build_page, render_page, room_for_document
from unit.fake_source import FakeNames
from unit.web.told_heap import ToldHeap, told_heap


class Elements(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_nothing_is_fetched_from_elsewhere() -> None:
    page = render_page("app", Document(b"core", b"history"))
    addresses = [
        attributes[name]
        for _, attributes in Elements(page).found
        for name in ("src", "href", "data", "action")
        if name in attributes
    ]
    assert all(text is not None and text.startswith(("data:", "#")) for text in addresses)
    assert "@import" not in page
    assert "url(" not in page


def test_only_the_pages_own_script_may_run() -> None:
    page = render_page("app", Document(b"", b""))
    script = page.split('<script type="module">')[1].split("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert "default-src 'none'" in page


def test_title_is_text() -> None:
    page = render_page('</title><script>"x"\udc80', Document(b"", b""))
    assert "<title>&lt;/title&gt;&lt;script&gt;&quot;x&quot;\\x80 · heapglass</title>" in page


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("bin/tool", "x y"), "tool"),
        (("/my files/tool",), "tool"),
        (("server unix:/run/r",), "server"),
        ((), "app"),
    ],
)
def test_a_page_is_named_after_its_program(argv: tuple[str, ...], name: str) -> None:
    heap = ToldHeap(argv=argv)
    page = build_page(heap, FakeNames(heap), ReportQuery(room_for_document()), lambda *_: None)
    assert f"<title>{name} (4242) · heapglass</title>" in page


def test_data_is_nothing_but_base64() -> None:
    heap = told_heap()
    page = build_page(heap, FakeNames(heap), ReportQuery(room_for_document()), lambda *_: None)
    for part in ("core", "history"):
        match = re.search(rf'<script type="text/plain" id="{part}">([^<]*)</script>', page)
        assert match is not None
        assert b64decode(match[1], validate=True)


def test_a_page_with_all_the_room_taken_is_within_the_limit() -> None:
    room = room_for_document()
    page = render_page("x" * 200, Document(b"x" * (room - 1000), b"x" * 1000))
    assert LIMIT_BYTES - 10_000 < len(page.encode()) <= LIMIT_BYTES
