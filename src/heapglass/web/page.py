"""The page: styles, scripts and the document's two parts in one HTML file.

Scripts are one module, its files one behind the other in the order given here. What comes from the
recording is in the parts only, compressed and in base64, so that no name in it can be taken for
markup; and the page forbids itself any script but this one, and any request.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files

from heapglass.model import HeapSource, Process
from heapglass.text import printable
from heapglass.views.naming import Resolver
from heapglass.web.document import Document, ReportQuery, Step, build_document

LIMIT_BYTES = 3_000_000  # of a page
_STYLES = ("theme.css", "layout.css", "parts.css")
_SCRIPTS = (
    "units.js",
    "elements.js",
    "unpack.js",
    "model.js",
    "selection.js",
    "search.js",
    "stack_tree.js",
    "colours.js",
    "address.js",
    "canvas.js",
    "timeline.js",
    "flame.js",
    "rows.js",
    "stack_pane.js",
    "table.js",
    "charts.js",
    "about.js",
    "tiles.js",
    "keys.js",
    "theme.js",
    "report.js",
    "start.js",
)
_POLICY = "default-src 'none'; img-src data:; script-src 'sha256-{}'; style-src 'sha256-{}'"


def room_for_document() -> int:
    """Bytes that both parts may have together before base64 makes four of three."""
    return (LIMIT_BYTES - len(render_page("", Document(b"", b""))) - 4096) * 3 // 4


def build_page(source: HeapSource, resolver: Resolver, query: ReportQuery, step: Step) -> str:
    document = build_document(source, resolver, query, step)
    process = source.process
    return render_page(f"{_name(process)} ({process.pid})", document)


def _name(process: Process) -> str:
    """By which it was started. Where that is not known: of a title that a program gave itself,
    `redis-server unixsocket:/run/r`, the first word."""
    if process.name:
        return process.name
    name = (process.argv[:1] or (process.executable,))[0]
    return (name if name.startswith("/") else name.split(" ")[0]).rsplit("/", 1)[-1]


def render_page(title: str, document: Document) -> str:
    style = "".join(map(_asset, _STYLES))
    script = "".join(map(_asset, _SCRIPTS))
    texts = {
        "policy": _POLICY.format(_digest(script), _digest(style)),
        "title": escape(printable(title)),
        "style": style,
        "script": script,
        "core": b64encode(document.core).decode(),
        "history": b64encode(document.history).decode(),
    }
    parts = _asset("report.html").split("@@")
    return "".join(texts[part] if odd % 2 else part for odd, part in enumerate(parts))


def _asset(name: str) -> str:
    return (files("heapglass.web") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
