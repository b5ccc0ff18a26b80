"""The terminal, or whatever stands in for it: width, colour, glyphs, and JSON.

On a terminal text is cut to its width. Into a file or a pipe text is laid out for the same width,
but nothing is cut: what does not fit goes on further lines, which hang below the first.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.control import strip_control_codes
from rich.text import Text

from heapglass.cli.arguments import chosen_units
from heapglass.text import printable
from heapglass.units import Units
from heapglass.views.locations import GAP, Location, Room
from heapglass.views.text.glyphs import Glyphs, choose_glyphs

Part = str | tuple[str, str]  # a text, or a text and its style
PIPE_WIDTH = 100  # where no terminal tells
_HANG = 4  # further lines of what is too long for one
_CALLERS_INDENT = 12
_LEAST_WIDTH = 60  # below it the columns have no room, and the terminal may wrap
_MOST_SIZE = 10_000  # of either side: what is drawn fits in memory
_MOST_DIGITS = 20  # a longer number is none
_WARNINGS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Screen:
    console: Console
    width: int
    height: int | None  # None: there is no end
    is_cut: bool  # texts are shortened to the width; else they go on below
    glyphs: Glyphs
    units: Units

    @property
    def has_color(self) -> bool:
        return self.console.color_system is not None and not self.console.no_color

    def room(self, taken: int, least: int = 0) -> int | None:
        """What is left of the width, at least `least`; None where nothing is cut."""
        return max(least, self.width - taken) if self.is_cut else None

    def line(self, *parts: Part, hang: int = _HANG) -> None:
        """One line. Where nothing is cut, what does not fit goes on further lines, indented by
        `hang`; else the caller has made it fit."""
        if self.is_cut or len(_plain(parts).rstrip()) <= self.width:
            self._print(parts)
            return
        for line in break_parts(parts, self.width, hang):
            self._print(line)

    def _print(self, parts: Sequence[Part]) -> None:
        if not self.console.is_terminal:
            self._write(_plain(parts).rstrip())
            return
        text = Text.assemble(*parts)
        text.rstrip()
        self.console.print(text, soft_wrap=True)

    def drawing(self, *parts: Part) -> None:
        """One line whose end belongs to it, even if it is blank."""
        if not self.console.is_terminal:
            self._write(_plain(parts))
            return
        self.console.print(Text.assemble(*parts), soft_wrap=True)

    def _write(self, text: str) -> None:
        """Past rich, which would render and flush each of what may be a hundred thousand lines."""
        self.console.file.write(strip_control_codes(text) + "\n")

    def sentences(self, sentences: Sequence[str], mark: str, style: str) -> None:
        """Each sentence behind a mark, wrapped to the screen."""
        for sentence in sentences:
            lines = textwrap.wrap(
                printable(sentence),
                self.width,
                initial_indent=mark,
                subsequent_indent=" " * len(mark),
                break_long_words=self.is_cut,
                break_on_hyphens=self.is_cut,
            )
            for line in lines:
                self._print([(line, style)])

    def paragraph(self, text: str, head: Part, style: str) -> None:
        """The text behind a head, wrapped to the screen and aligned below its first line."""
        indent = len(head if isinstance(head, str) else head[0])
        lines = textwrap.wrap(
            text, self.width - indent, break_long_words=self.is_cut, break_on_hyphens=False
        )
        first, *rest = lines or [""]
        self._print([head, (first, style)])
        for line in rest:
            self._print([" " * indent, (line, style)])

    def caveats(self, caveats: Sequence[str]) -> None:
        """Losses and approximations, above everything else."""
        self.sentences(caveats, "! ", "yellow")
        if caveats:
            self.line()

    def warnings(self, warnings: Sequence[str]) -> None:
        """What kept frames from having names, below everything else."""
        if not warnings:
            return
        self.line()
        self.sentences(warnings[:_WARNINGS_SHOWN], "symbols: ", "dim")
        more = len(warnings) - _WARNINGS_SHOWN
        if more > 0:
            self.line((f"symbols: and {more} more of these; --json has them all", "dim"))


def _plain(parts: Sequence[Part]) -> str:
    return "".join(part if isinstance(part, str) else part[0] for part in parts)


def break_parts(parts: Sequence[Part], width: int, hang: int) -> Iterator[list[Part]]:
    """Lines of at most `width`, further ones indented by `hang`. A part stays in one piece if a
    line has room for it, a word in any case."""
    line: list[Part] = []
    column = 0
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        room = width - min(column, hang)
        fits = len(text.strip() if column > hang else text.rstrip()) <= room
        for piece in [text] if fits else re.findall(r"\s*\S+", text):
            if column > hang and piece.strip() and column + len(piece.rstrip()) > width:
                yield line
                line, column = [" " * hang], hang
            shown = piece.lstrip() if column == hang and len(line) == 1 else piece
            line.append((shown, style))
            column += len(shown)
    yield line


def open_screen(args: argparse.Namespace) -> Screen:
    """The screen that standard output is, as the options and the environment will have it."""
    stream = _tolerant(sys.stdout)
    is_terminal = stream.isatty()
    width, height = screen_size(os.environ, is_terminal=is_terminal)
    # An option is stronger than NO_COLOR.
    is_plain = args.no_color or not is_terminal or os.environ.get("NO_COLOR", "") != ""
    is_styled = args.color or not is_plain
    console = _PipedConsole(
        file=stream,
        force_terminal=is_styled,
        no_color=False,
        color_system="auto" if is_styled else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    if args.width is not None:
        width = _bounded_width(args.width)
    glyphs = choose_glyphs(stream.encoding)
    return Screen(console, width, height, is_terminal, glyphs, chosen_units(args))


def screen_size(environment: Mapping[str, str], *, is_terminal: bool) -> tuple[int, int | None]:
    """Columns, and lines where there is a limit to them."""
    if is_terminal:
        size = shutil.get_terminal_size()  # which looks at COLUMNS first, too
        return _bounded_width(size.columns), min(size.lines, _MOST_SIZE)
    columns = environment.get("COLUMNS", "")
    is_number = columns.isascii() and columns.isdigit() and len(columns) < _MOST_DIGITS
    given = int(columns) if is_number else 0
    return _bounded_width(given or terminal_width() or PIPE_WIDTH), None


def terminal_width() -> int:
    """Of the terminal that whoever reads our pipe most likely writes to; 0: there is none."""
    for descriptor in (2, 0):
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns
    with suppress(OSError), open("/dev/tty", "rb", buffering=0) as terminal:
        return os.get_terminal_size(terminal.fileno()).columns
    return 0


def _bounded_width(columns: int) -> int:
    return min(max(_LEAST_WIDTH, columns), _MOST_SIZE)


def location_room(screen: Screen, taken: int, least: int) -> Room:
    """For a location behind `taken` columns, and for its callers below."""
    beside = max(least, screen.width - taken)
    return Room(beside, screen.width - _CALLERS_INDENT, screen.is_cut)


def print_location(
    screen: Screen, before: Sequence[Part], location: Location, *, has_callers: bool = True
) -> None:
    """A row that ends with a location: function, place and callers, each in its colour. Callers
    below it are for rows that no stack follows."""
    gap = " " * GAP
    screen.line(
        *before,
        (location.function, "cyan"),
        gap + location.place if location.place else "",
        (gap + location.callers if location.callers else "", "dim"),
        hang=_CALLERS_INDENT,
    )
    if location.below and has_callers:
        links = [(link, "dim") for link in location.below]
        screen.line(" " * _CALLERS_INDENT, *links, hang=_CALLERS_INDENT)


def print_json(document: Mapping[str, Any]) -> None:
    """One key per line, and one item per line of each list: a table can be large, and reads well
    with line-oriented tools."""
    write = sys.stdout.write
    separator = "{"
    for key, value in document.items():
        write(f"{separator}\n{json.dumps(key)}: ")
        if isinstance(value, list) and value:
            _print_items(value)
        else:
            write(json.dumps(value))
        separator = ","
    write("\n}\n")


def _print_items(items: Sequence[Any]) -> None:
    separator = "["
    for item in items:
        sys.stdout.write(f"{separator}\n{json.dumps(item)}")
        separator = ","
    sys.stdout.write("\n]")


class _PipedConsole(Console):
    def on_broken_pipe(self) -> None:
        """The dispatcher knows what to do; rich would end the process with a code of its own."""
        raise BrokenPipeError


def _tolerant(stream: TextIO) -> TextIO:
    """The stream, made to escape what its encoding lacks: a name must not end the report."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return stream
