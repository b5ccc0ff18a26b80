"""`heapglass flamegraph`: the call tree drawn to scale in the terminal."""

from __future__ import annotations

import argparse
from zlib import crc32

from heapglass.analysis.tree import ROOT, Direction
from heapglass.cli.arguments import count_argument
from heapglass.cli.output import Part, Screen, open_screen, print_json
from heapglass.cli.scope import open_scope
from heapglass.cli.tree import amount_text
from heapglass.cli.tree_arguments import add_tree_arguments, chosen_tree, watch_stacks
from heapglass.units import format_count
from heapglass.views.flame import Cell, Flame, has_name, lay_flame
from heapglass.views.json.tree import tree_document
from heapglass.views.text.columns import sort_title
from heapglass.views.text.tree_labels import chain_names, label_name, node_name
from heapglass.views.tree import TreeView, build_tree_view

NAME = "flamegraph"
HELP = "draw the calls that lead to memory to scale"

_DESCRIPTION = """\
Draws the calls that lead to memory in the terminal, callers above those they
call, each as wide as what was allocated in it and below it. What everything is
below has a line of its own at the top. --callers turns it round."""
_EXAMPLES = """\
examples:
  heapglass flamegraph server.1234.heapglass
  heapglass flamegraph --sort bytes --depth 0 server.1234.heapglass | less -S
  heapglass flamegraph --callers --module libssl server.1234.heapglass@peak"""

_LEAST_ROWS = 10
_FRAME_LINES = 8  # title, trunk, footer, prompt, and some air
# Black can be read on each of them, also by those who see fewer colours.
_PAPERS = (209, 215, 221, 179, 180, 216, 222, 186)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_tree_arguments(parser)
    parser.add_argument(
        "--depth",
        type=count_argument,
        metavar="N",
        help="only the first N rows, 0 for all (default: what fits the screen)",
    )


def main(args: argparse.Namespace) -> int:
    query = chosen_tree(args)
    opened = open_scope(args)
    view = build_tree_view(opened.heap, opened.names, query, watch_stacks)
    if args.json:
        print_json(tree_document(opened.heap, view))
        return 0
    screen = open_screen(args)
    print_flame(screen, view, args.depth if args.depth is not None else _default_depth(screen))
    return 0


def print_flame(screen: Screen, view: TreeView, depth: int | None) -> None:
    width = screen.width
    unseen = ("The errors of estimates have no width: 'heapglass tree' has them.",)
    screen.caveats((*view.caveats, *(unseen if view.error.error.any() else ())))
    if view.whole == 0:
        screen.line(("No calls to show.", "dim"))
        return
    flame = lay_flame(view, width, depth)
    _print_head(screen, view, flame)
    for row in flame.rows:
        screen.drawing(*_row_parts(screen, view, row))
    _print_footer(screen, view, flame, width)
    screen.warnings(view.warnings)


def _default_depth(screen: Screen) -> int | None:
    return None if screen.height is None else max(_LEAST_ROWS, screen.height - _FRAME_LINES)


def _print_head(screen: Screen, view: TreeView, flame: Flame) -> None:
    title = sort_title(view.sort, view.remainder)
    is_inward = view.tree.shape.direction is Direction.CALLEES
    way = "callers above what they call" if is_inward else "callers below what they call"
    whole = amount_text(screen, view, view.whole, float(view.error[ROOT]))
    screen.line((f"{title} {whole}", "bold"), (f"  {way}", "dim"))
    if flame.trunk:
        before, last = chain_names(view.tree, flame.trunk, screen.room(0), screen.glyphs)
        screen.line((before + last, "dim"))


def _row_parts(screen: Screen, view: TreeView, row: tuple[Cell, ...]) -> list[Part]:
    parts: list[Part] = []
    column = 0
    for cell in row:
        parts.append(" " * (cell.start - column))
        parts.append((_cell_text(screen, view, cell), _style(view, cell)))
        column = cell.end
    return parts


def _cell_text(screen: Screen, view: TreeView, cell: Cell) -> str:
    """Where there is no colour, an edge tells cells apart and a line shows how wide they are."""
    edge = screen.glyphs.edge
    room = cell.end - cell.start - len(edge)
    filling = " " if screen.has_color else screen.glyphs.floor
    name = node_name(view.tree, cell.node, room, screen.glyphs) if has_name(cell) else ""
    if name and len(name) + 1 < room:
        name += " "
    return edge + name.ljust(room, filling)


def _style(view: TreeView, cell: Cell) -> str:
    """One function has one colour wherever it is."""
    name = label_name(view.tree.label_of(cell.node), view.tree.shape.merge)
    paper = _PAPERS[crc32(name.encode("utf-8", "surrogateescape")) % len(_PAPERS)]
    return f"black on color({paper})"


def _print_footer(screen: Screen, view: TreeView, flame: Flame, width: int) -> None:
    column = amount_text(screen, view, max(1, view.whole // width))
    least = amount_text(screen, view, view.least)
    sentences = [f"One column is {column}"]
    hidden = len(view.tree) - 1 - view.shown
    if hidden:
        calls = "1 call" if hidden == 1 else f"{format_count(hidden)} calls"
        sentences.append(f"{calls} below {least} left out")
    if flame.deeper:
        rows = "1 more row" if flame.deeper == 1 else f"{format_count(flame.deeper)} more rows"
        sentences.append(f"{rows} below, --depth 0 shows all")
    screen.sentences(["; ".join(sentences)], "", "dim")
