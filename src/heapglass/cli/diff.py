"""`heapglass diff`: two recordings, or two moments of one, compared by what stacks are called."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from heapglass.analysis.diff import Change, Pair
from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.order import size_column, sort_column
from heapglass.cli.arguments import (
    add_filter_options,
    add_min_option,
    add_output_options,
    add_sort_option,
    add_thread_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_sort,
    chosen_units,
    count_argument,
)
from heapglass.cli.located_rows import column_widths, locate_rows, pad_cells
from heapglass.cli.output import Screen, location_parts, open_screen, print_json
from heapglass.cli.scope import open_moments
from heapglass.cli.source import add_debuginfod_option
from heapglass.cli.stack_lines import print_stack
from heapglass.errors import UsageError
from heapglass.units import format_compact, format_count, format_size
from heapglass.views.diff import ChangeSum, DiffQuery, DiffView, Named, build_diff
from heapglass.views.diff_documents import diff_document
from heapglass.views.estimates import counted_estimate, sized_estimate

NAME = "diff"
HELP = "compare two recordings, or two moments of one"

_DESCRIPTION = """\
Compares two recordings, or two moments of one (FILE@90s FILE@end): which sites
are new, gone, grown or shrunk, and what that means for the peak. Sites are
matched by the functions on their stacks, not by addresses or lines, so that a
program may be rebuilt in between."""
_EXAMPLES = """\
examples:
  heapglass diff before.heapglass after.heapglass
  heapglass diff server.1234.heapglass@10s server.1234.heapglass@end
  heapglass diff --group function --min 64k before.heapglass after.heapglass"""

_STYLES = {
    Change.NEW: "bold red",
    Change.GROWN: "red",
    Change.SHRUNK: "green",
    Change.GONE: "bold green",
    Change.SAME: "dim",
}
_ROWS = 20
_STACKS_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    for name, metavar, what in (("before", "A", "the earlier"), ("after", "B", "the later")):
        parser.add_argument(name, metavar=metavar, help=f"{what} recording or core, or FILE@MOMENT")
    add_sort_option(parser, "what is compared")
    parser.add_argument(
        "--group",
        choices=[by.value for by in GroupBy if by is not GroupBy.THREAD],
        metavar="BY",
        help="compare functions, files or modules instead of sites",
    )
    add_thread_option(parser)
    add_filter_options(parser)
    add_min_option(parser, "only changes of at least SIZE")
    parser.add_argument("--same", action="store_true", help="also what did not change")
    parser.add_argument(
        "-n",
        "--limit",
        type=count_argument,
        metavar="N",
        help=f"only the first N rows, 0 for all (default: {_ROWS}; all in JSON)",
    )
    parser.add_argument("--stacks", action="store_true", help="print the whole stack of each site")
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    if args.group and args.stacks:
        raise UsageError("--stacks shows the stacks of sites and cannot be used with --group")
    opened = open_moments(args.before, args.after, thread=args.thread)
    before, after = (Named(one.heap, one.names) for one in opened)
    view = build_diff(before, after, _query(args))
    if args.json:
        print_json(diff_document(before, after, view))
    else:
        print_diff(open_screen(args), view, has_stacks=args.stacks)
    return 0


def print_diff(screen: Screen, view: DiffView, *, has_stacks: bool) -> None:
    screen.caveats(view.caveats)
    for line in _headlines(screen, view):
        screen.line(*line)
    screen.line()
    if not view.rows:
        screen.line(("No changes to show.", "dim"))
    else:
        _print_rows(screen, view, has_stacks=has_stacks)
    if len(view.rows) < view.matched:
        rows = f"{format_count(len(view.rows))} of {format_count(view.matched)} rows"
        screen.line((f"{rows}; --limit 0 shows all", "dim"))
    screen.warnings(view.warnings)


def _query(args: argparse.Namespace) -> DiffQuery:
    default = 0 if args.json else _STACKS_SHOWN if args.stacks else _ROWS
    return DiffQuery(
        sort=chosen_sort(args),
        group=GroupBy(args.group) if args.group else None,
        filters=chosen_filters(args),
        min_bytes=args.min or 0,
        limit=default if args.limit is None else args.limit,
        has_same=args.same,
        units=chosen_units(args),
        plumbing=chosen_plumbing(args),
    )


def _headlines(screen: Screen, view: DiffView) -> Iterator[tuple[tuple[str, str], ...]]:
    """The peak first: it is what a machine must have room for."""
    if view.knows_peak:
        yield from _headline(
            screen, "Peak", view.before.peak_bytes, view.after.peak_bytes, _parts(view, "peak")
        )
    if not (view.knows_peak and view.sort.value == "peak"):
        word = view.sort.value.capitalize()
        yield from _headline(
            screen, word, view.whole_before, view.whole_after, _parts(view, "value")
        )


def _parts(view: DiffView, what: str) -> list[tuple[ChangeSum, int]]:
    deltas = [(one, one.peak_delta if what == "peak" else one.delta) for one in view.sums]
    return [(one, delta) for one, delta in deltas if delta]


def _headline(
    screen: Screen, word: str, before: int, after: int, parts: list[tuple[ChangeSum, int]]
) -> Iterator[tuple[tuple[str, str], ...]]:
    is_count = word.lower() in ("allocations", "temporary")
    text = format_compact if is_count else (lambda size: format_size(size, screen.units))
    delta = after - before
    share = f", {100 * delta / before:+.0f}%" if before > 0 and delta else ""
    style = "red" if delta > 0 else "green" if delta < 0 else ""
    change = f"{_signed(text(delta))}{share}" if delta else "no change"
    yield (
        (f"{word}  ", "bold"),
        (f"{text(before)} {screen.glyphs.call} {text(after)}  ", ""),
        (change, f"bold {style}".strip()),
    )
    if parts:
        rows = ", ".join(
            f"{format_count(one.rows)} {one.change.value} {_signed(text(delta))}"
            for one, delta in parts
        )
        yield ((" " * (len(word) + 2) + rows, "dim"),)


def _signed(text: str) -> str:
    return text if text.startswith("-") else f"+{text}"


def _delta_text(screen: Screen, pair: Pair, *, is_size: bool) -> str:
    delta, error = pair.delta, pair.delta_error
    if is_size:
        return _signed(sized_estimate(delta, error, screen.units, screen.glyphs))
    return _signed(counted_estimate(delta, error, screen.glyphs))


def _print_rows(screen: Screen, view: DiffView, *, has_stacks: bool) -> None:
    is_size = size_column(view.sort) == sort_column(view.sort)
    text = (lambda size: format_size(size, screen.units)) if is_size else format_compact
    rows = [
        (
            row.pair.change.value,
            _delta_text(screen, row.pair, is_size=is_size) if row.pair.delta else "0",
            text(row.pair.before.value) if row.pair.before.sites else "-",
            text(row.pair.after.value) if row.pair.after.sites else "-",
        )
        for row in view.rows
    ]
    titles = ("CHANGE", "BY", "BEFORE", "AFTER")
    widths = column_widths(titles, rows)
    last = (view.group.value if view.group else "location").upper()
    screen.line(("".join(pad_cells(titles, widths)) + last, "bold"))
    locations = locate_rows(screen, view.rows, view.group, widths)
    for row, cells, location in zip(view.rows, rows, locations, strict=True):
        word, delta, *numbers = pad_cells(cells, widths)
        style = _STYLES[row.pair.change]
        screen.line((word + delta, style), *numbers, *location_parts(location))
        if has_stacks:
            print_stack(screen, row.origin.stack, row.origin.responsible)
