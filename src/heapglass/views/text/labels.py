"""Frames as text: what a function is called, where it is, and both cut to a width.

Names come from files that anyone may have written, so whatever could move the cursor is escaped
here, at the last step before a screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from posixpath import basename

from heapglass.analysis.names import elide_arguments, qualified_name, split_scopes
from heapglass.model import Frame, Pseudo
from heapglass.text import printable
from heapglass.views.text.glyphs import Glyphs

_CUTS = {
    Pseudo.DEPTH: "outer frames are missing: the depth limit was reached",
    Pseudo.NO_RULE: "outer frames are missing: no unwind information",
    Pseudo.BOUNDS: "outer frames are missing: a frame pointed outside the stack",
    Pseudo.BAD_RULE: "outer frames are missing: unwind information not understood",
    Pseudo.OTHER: "all stacks that found no room of their own",
}


def function_text(frame: Frame) -> str:
    """The whole name, or the place in the module, or the bare address."""
    if frame.function:
        return printable(frame.function)
    if frame.module:
        return printable(f"{basename(frame.module)}+{frame.offset:#x}")
    return f"{frame.address:#x}"


def place_text(frame: Frame) -> str:
    """`file.c:12` without directories; the module where the file is unknown."""
    if frame.file:
        return _with_line(basename(frame.file), frame.line)
    return printable(basename(frame.module)) if frame.function else ""


def full_place_text(frame: Frame) -> str:
    """As `place_text`, with directories."""
    if frame.file:
        return _with_line(frame.file, frame.line)
    return printable(frame.module) if frame.function else ""


def cut_text(cut: Pseudo) -> str:
    """Why a stack ends where it does."""
    return _CUTS[cut]


def short_name(frame: Frame, width: int | None, glyphs: Glyphs) -> str:
    """The function in at most `width` characters (None: whole). First its types and parameters
    go, then its template arguments, then its outer scopes, then its middle."""
    whole = function_text(frame)
    if width is None or not frame.function:
        return whole if width is None else shorten(whole, width, glyphs)
    name = qualified_name(whole)
    if len(name) > width:
        name = _drop_scopes(_elide(name, glyphs), width, glyphs)
    return shorten(name, width, glyphs)


def shorten(text: str, width: int, glyphs: Glyphs) -> str:
    """The text in at most `width` characters; the end, which tells most, keeps more than half."""
    if len(text) <= width:
        return text
    room = width - len(glyphs.ellipsis)
    if room <= 0:
        return text[: max(0, width)]
    tail = (room * 2 + 2) // 3
    return text[: room - tail] + glyphs.ellipsis + text[-tail:]


def shorten_path(text: str, width: int | None, glyphs: Glyphs) -> str:
    """The end of a path in at most `width` characters."""
    if width is None or len(text) <= width:
        return text
    room = width - len(glyphs.ellipsis)
    return glyphs.ellipsis + text[-room:] if room > 0 else text[: max(0, width)]


def chain_text(callers: Sequence[Frame], width: int | None, glyphs: Glyphs) -> str:
    """Callers from the nearest outwards, as many as fit, each run of one function once."""
    link = f"{glyphs.arrow} "
    parts = [_run(name, count) for name, count in _runs(callers, glyphs)]
    if width is None:
        return " ".join(link + part for part in parts)
    text = link + shorten(parts[0], width - len(link), glyphs) if parts else ""
    for index, part in enumerate(parts[1:], 2):
        longer = f"{text} {link}{part}"
        # What is left out must leave room to say so.
        rest = f" {glyphs.ellipsis}" if index < len(parts) else ""
        if len(longer + rest) > width:
            return _end(text, width, glyphs)
        text = longer
    return text


def chain_links(callers: Sequence[Frame], width: int, glyphs: Glyphs) -> tuple[str, ...]:
    """As `chain_text`, but no name is shortened: whole links, the nearest in any case, and how many
    more there are."""
    runs = groupby(qualified_name(function_text(frame)) for frame in callers)
    links = [f"{glyphs.arrow} {_run(name, len(list(run)))} " for name, run in runs]
    if len("".join(links).rstrip()) <= width:
        return tuple(links)
    for count in range(len(links) - 1, 0, -1):
        shown = (*links[:count], f"and {len(links) - count} more")
        if count == 1 or len("".join(shown)) <= width:
            return shown
    return tuple(links)


def _end(text: str, width: int, glyphs: Glyphs) -> str:
    ended = f"{text} {glyphs.ellipsis}"
    return ended if len(ended) <= width else text


def _with_line(file: str, line: int) -> str:
    return printable(f"{file}:{line}" if line else file)


def _runs(callers: Sequence[Frame], glyphs: Glyphs) -> list[tuple[str, int]]:
    names = [_elide(qualified_name(function_text(frame)), glyphs) for frame in callers]
    return [(name, len(list(run))) for name, run in groupby(names)]


def _run(name: str, count: int) -> str:
    return name if count == 1 else f"{name} ({count})"


def _drop_scopes(name: str, width: int, glyphs: Glyphs) -> str:
    """As many of the innermost scopes as fit, at least the function itself."""
    if len(name) <= width:
        return name
    scopes = split_scopes(name)
    for first in range(1, len(scopes)):
        inner = glyphs.ellipsis + "::".join(scopes[first:])
        if len(inner) <= width:
            return inner
    return scopes[-1]


def _elide(name: str, glyphs: Glyphs) -> str:
    return elide_arguments(name, glyphs.ellipsis).replace("(anonymous namespace)", "(anon)")
