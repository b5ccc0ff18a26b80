"""The terminal, or whatever stands in for it: width, colour, glyphs, and JSON.

On a terminal text is cut to its width; into a file or a pipe everything is written whole and
without colour, unless COLUMNS or --color say otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.control import strip_control_codes
from rich.text import Text

from heapglass.cli.arguments import chosen_units
from heapglass.text import printable
from heapglass.units import Units
from heapglass.views.glyphs import Glyphs, choose_glyphs
from heapglass.views.locations import GAP, Location

Part = str | tuple[str, str]  # a text, or a text and its style
PIPE_WIDTH = 100  # where bars and columns end when nothing else does
_LEAST_WIDTH = 60  # below it the columns have no room, and the terminal may wrap
_MOST_SIZE = 10_000  # of either side: what is drawn fits in memory
_MOST_DIGITS = 20  # a longer number is none
_WARNINGS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Screen:
    console: Console
    width: int | None  # None: lines may be as long as they like
    height: int | None  # None: there is no end
    glyphs: Glyphs
    units: Units

    @property
    def has_color(self) -> bool:
        return self.console.color_system is not None and not self.console.no_color

    def line(self, *parts: Part) -> None:
        """One line, neither wrapped nor cut."""
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
        width = self.width or sys.maxsize
        for sentence in sentences:
            lines = textwrap.wrap(
                printable(sentence), width, initial_indent=mark, subsequent_indent=" " * len(mark)
            )
            for line in lines:
                self.line((line, style))

    def paragraph(self, text: str, head: Part, style: str) -> None:
        """The text behind a head, wrapped to the screen and aligned below its first line."""
        indent = len(head if isinstance(head, str) else head[0])
        width = (self.width or sys.maxsize) - indent
        first, *rest = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
        self.line(head, (first, style))
        for line in rest:
            self.line(" " * indent, (line, style))

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


def open_screen(args: argparse.Namespace) -> Screen:
    """The screen that standard output is, as the options and the environment will have it."""
    stream = _tolerant(sys.stdout)
    is_terminal = stream.isatty()
    width, height = screen_size(os.environ, is_terminal=is_terminal)
    console = _PipedConsole(
        file=stream,
        force_terminal=True if args.color else is_terminal,
        # An option is stronger than NO_COLOR, which rich looks at when it is told nothing.
        no_color=args.no_color if args.color or args.no_color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    return Screen(console, width, height, choose_glyphs(stream.encoding), chosen_units(args))


def screen_size(
    environment: Mapping[str, str], *, is_terminal: bool
) -> tuple[int | None, int | None]:
    """Columns and lines; None where there is no limit."""
    if is_terminal:
        size = shutil.get_terminal_size()  # which looks at COLUMNS first, too
        return _bounded_width(size.columns), min(size.lines, _MOST_SIZE)
    columns = environment.get("COLUMNS", "")
    is_number = columns.isascii() and columns.isdigit() and len(columns) < _MOST_DIGITS
    return (_bounded_width(int(columns)) if is_number and int(columns) else None), None


def _bounded_width(columns: int) -> int:
    return min(max(_LEAST_WIDTH, columns), _MOST_SIZE)


def location_parts(location: Location) -> tuple[Part, ...]:
    """Function, place and callers, each in its colour."""
    gap = " " * GAP
    return (
        (location.function, "cyan"),
        gap + location.place if location.place else "",
        (gap + location.callers, "dim"),
    )


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
