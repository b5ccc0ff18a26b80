"""`heapglass tree`: who calls whom on the way to the memory."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from heapglass.analysis.tree import ROOT, Direction
from heapglass.cli.arguments import add_count_option
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.scope import open_scope
from heapglass.cli.tree_arguments import add_tree_arguments, chosen_tree, watch_stacks
from heapglass.units import format_count, format_share
from heapglass.views.json.tree import tree_document
from heapglass.views.text.columns import sort_title
from heapglass.views.text.estimates import counted_estimate, sized_estimate
from heapglass.views.text.tree_labels import chain_names, label_place
from heapglass.views.tree import Branch, TreeView, branches, build_tree_view

NAME = "tree"
HELP = "show the calls that lead to memory as a tree"

_DESCRIPTION = """\
Shows the calls that lead to memory as a tree, from the program's start inwards,
each with what was allocated in it and below it; OWN is what the function itself
answers for. Calls that follow each other without a fork share a line. --callers
turns the tree round."""
_EXAMPLES = """\
examples:
  heapglass tree server.1234.heapglass
  heapglass tree --callers --sort leaked server.1234.heapglass
  heapglass tree --function '^parse_' --min 64k server.1234.heapglass@90s"""

_LEAST_TEXT = 14  # columns for names, however deep the tree is
_TREE_SHARE = 2  # at most half of the width is for the tree's lines
_GAP = "  "


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_tree_arguments(parser)
    add_count_option(parser, "--limit", "only the first N lines", default=0)


def main(args: argparse.Namespace) -> int:
    query = chosen_tree(args)
    opened = open_scope(args)
    view = build_tree_view(opened.heap, opened.names, query, watch_stacks)
    if args.json:
        print_json(tree_document(opened.heap, view))
    else:
        print_tree(open_screen(args), view, args.limit)
    return 0


def print_tree(screen: Screen, view: TreeView, limit: int) -> None:
    screen.caveats(view.caveats)
    every = list(branches(view))
    shown = every[:limit] if limit else every
    numbers = _numbers(screen, view, shown)
    titles, *rows = numbers
    way = "CALLS" if view.tree.shape.direction is Direction.CALLEES else "CALLERS"
    screen.line((titles + way, "bold"))
    for branch, number in zip(shown, rows, strict=True):
        _print_branch(screen, view, branch, number)
    _print_footer(screen, view, len(every) - len(shown))
    screen.warnings(view.warnings)


def amount_text(screen: Screen, view: TreeView, amount: int, error: float = 0.0) -> str:
    if view.is_count:
        return counted_estimate(amount, error, screen.glyphs)
    return sized_estimate(amount, error, screen.units, screen.glyphs)


def _numbers(screen: Screen, view: TreeView, shown: Sequence[Branch]) -> list[str]:
    """The titles, then what stands before each line; all of one width."""
    is_inward = view.tree.shape.direction is Direction.CALLEES
    rows = [[sort_title(view.sort, view.remainder), "SHARE", *(["OWN"] if is_inward else [])]]
    for branch in shown:
        first = branch.nodes[0]
        total, own = int(view.total[first]), int(view.own[branch.nodes[-1]])
        whole = amount_text(screen, view, total, view.error[first])
        row = [whole, format_share(total, view.whole)]
        if is_inward:
            error = view.own_error[branch.nodes[-1]]
            row.append(amount_text(screen, view, own, error) if own else "")
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(cell.rjust(width) + _GAP for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _print_branch(screen: Screen, view: TreeView, branch: Branch, number: str) -> None:
    lines = _lines(screen, branch)[-max(0, (screen.width - len(number)) // _TREE_SHARE) :]
    room = screen.room(len(number) + len(lines), _LEAST_TEXT)
    before, last = chain_names(view.tree, branch.nodes, room, screen.glyphs)
    place = label_place(view.tree.label_of(branch.nodes[-1]), view.tree.shape.merge)
    if room is not None and len(before + last + _GAP + place) > room:
        place = ""
    screen.line(
        (number, "bold" if branch.level == 0 else ""),
        (lines, "dim"),
        *re.findall(r"\S+\s*", before),  # so that lines may end between any two names
        (last, "cyan"),
        (_GAP + place if place else "", "dim"),
        hang=len(number) + len(_GAP),
    )


def _lines(screen: Screen, branch: Branch) -> str:
    glyphs = screen.glyphs
    if branch.level == 0:
        return ""
    above = "".join(
        glyphs.trunk if has_more else " " * len(glyphs.trunk) for has_more in branch.trunks
    )
    return above + (glyphs.last if branch.is_last else glyphs.fork)


def _print_footer(screen: Screen, view: TreeView, more: int) -> None:
    if view.whole == 0:
        screen.line(("No calls to show.", "dim"))
        return
    whole = amount_text(screen, view, view.whole, float(view.error[ROOT]))
    sites = f"{format_count(len(view.table))} site{'' if len(view.table) == 1 else 's'}"
    sentences = [f"{whole} from {sites}, by {view.sort.value}"]
    if more:
        sentences.append(
            f"{format_count(more)} more line{'' if more == 1 else 's'} without --limit"
        )
    hidden = len(view.tree) - 1 - view.shown
    if hidden:
        least = amount_text(screen, view, view.least)
        calls, them = ("1 call", "it") if hidden == 1 else (f"{format_count(hidden)} calls", "them")
        sentences.append(f"{calls} below {least} left out, --min 0 shows {them}")
    screen.sentences(["; ".join(sentences)], "", "dim")
