"""`heapglass report`: a recording as one HTML page."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from heapglass.cli.arguments import (
    add_force_option,
    add_units_option,
    add_wrapper_option,
    chosen_plumbing,
    chosen_units,
)
from heapglass.cli.leaks import built_in_suppressions
from heapglass.cli.progress import ProgressLine
from heapglass.cli.source import add_source_argument, inputs_of, open_source
from heapglass.cli.target import check_free, spare_inputs
from heapglass.files import permissions_of, write_aside
from heapglass.text import printable
from heapglass.units import format_size
from heapglass.web.document import ReportQuery
from heapglass.web.page import build_page, room_for_document

NAME = "report"
HELP = "make one HTML page of a recording, to look at in a browser and to share"

_DESCRIPTION = """\
Makes one HTML file that holds everything: a timeline on which any moment or
window can be picked, a flame graph, a table of all stacks, sizes, lifetimes and
threads. It opens without a network and can be sent to anyone."""
_EXAMPLES = """\
examples:
  heapglass report server.1234.heapglass
  heapglass report -o leak.html --wrapper 'x(m|re)alloc' server.1234.heapglass"""

_STDOUT = "-"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_source_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the page, '-' for standard output (default: SOURCE with .html at its end, in this"
        " directory)",
    )
    add_force_option(parser, "FILE")
    add_wrapper_option(parser)
    add_units_option(parser)


def main(args: argparse.Namespace) -> int:
    query = ReportQuery(
        room_for_document(),
        chosen_units(args),
        chosen_plumbing(args),
        tuple(built_in_suppressions()),
    )
    path, inputs = Path(args.output or default_name(args.source)), inputs_of(args.source)
    spare_inputs(path, inputs)
    if args.output != _STDOUT:
        check_free(path, is_forced=args.force)
    with ProgressLine() as progress:
        progress.say("reading")
        opened = open_source(args.source)
        progress.restart()
        page = build_page(opened.heap, opened.names, query, progress.step)
    if args.output == _STDOUT:
        sys.stdout.buffer.write(page.encode())
        return 0
    with write_aside(path, permissions_of(inputs)) as file:
        file.write(page.encode())
    print(f"{printable(str(path))}: {format_size(len(page.encode()), query.units)}")
    return 0


def default_name(source: str) -> str:
    """`dir/app.1234.heapglass` gives `app.1234.html`."""
    return f"{Path(source).name.removesuffix('.heapglass')}.html"
