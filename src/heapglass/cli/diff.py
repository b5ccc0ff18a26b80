"""`heapglass diff`: two recordings, or two moments of one, compared by what stacks are called."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from heapglass.analysis.diff import Change, Pair
from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.order import size_column, sort_column
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_sort_option,
    add_stacks_option,
    add_thread_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_sort,
    chosen_units,
)
from heapglass.cli.located_rows import column_widths, locate_rows, pad_cells
from heapglass.cli.output import Screen, open_screen, print_json, print_location
from heapglass.cli.scope import open_moments
from heapglass.cli.source import add_debuginfod_option
from heapglass.cli.stack_lines import print_stack
from heapglass.errors import UsageError
from heapglass.model.spread import as_spread, join_spreads
from heapglass.units import format_count
from heapglass.views.diff import ChangeSum, DiffQuery, DiffView, Named, build_diff
from heapglass.views.json.diff import diff_document
from heapglass.views.text.estimates import counted_estimate, sized_estimate

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
_HANG = 6


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    for name, metavar, what in (("before", "A", "the earlier"), ("after", "B", "the later")):
        parser.add_argument(name, metavar=metavar, help=f"{what} recording or core, or FILE@MOMENT")
    add_sort_option(parser, "what is compared")
    add_group_option(
        parser,
        (by.value for by in GroupBy if by is not GroupBy.THREAD),
        "compare functions, files or modules instead of sites",
    )
    add_thread_option(parser)
    add_filter_options(parser)
    add_min_option(parser, "only changes of at least SIZE")
    parser.add_argument("--same", action="store_true", help="also what did not change")
    add_count_option(
        parser, "--limit", f"only the first N rows, 0 for all (default: {_ROWS}; all in JSON)"
    )
    add_stacks_option(parser)
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
        screen.line(*line, hang=_HANG)
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
        peaks = _Amount(view.before.peak_bytes), _Amount(view.after.peak_bytes)
        yield from _headline(screen, "Peak", *peaks, _parts(view, "peak"))
    if not (view.knows_peak and view.sort.value == "peak"):
        word = view.sort.value.capitalize()
        wholes = (
            _Amount(view.whole_before, view.whole_before_error),
            _Amount(view.whole_after, view.whole_after_error),
        )
        yield from _headline(screen, word, *wholes, _parts(view, "value"))


@dataclass(frozen=True, slots=True)
class _Amount:
    value: int
    error: float = 0.0


def _parts(view: DiffView, what: str) -> list[tuple[ChangeSum, _Amount]]:
    deltas = [
        (one, _Amount(one.peak_delta, one.peak_delta_error))
        if what == "peak"
        else (one, _Amount(one.delta, one.delta_error))
        for one in view.sums
    ]
    return [(one, delta) for one, delta in deltas if delta.value]


def _headline(
    screen: Screen,
    word: str,
    before: _Amount,
    after: _Amount,
    parts: list[tuple[ChangeSum, _Amount]],
) -> Iterator[tuple[tuple[str, str], ...]]:
    is_size = word.lower() not in ("allocations", "temporary")

    def text(amount: _Amount) -> str:
        return _amount_text(screen, amount, is_size=is_size)

    delta = after.value - before.value
    share = f", {100 * delta / before.value:+.0f}%" if before.value > 0 and delta else ""
    style = "red" if delta > 0 else "green" if delta < 0 else ""
    difference = _Amount(delta, join_spreads((as_spread(before.error).turned, after.error)))
    change = f"{_signed(text(difference))}{share}" if delta else "no change"
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


def _amount_text(screen: Screen, amount: _Amount, *, is_size: bool) -> str:
    if is_size:
        return sized_estimate(amount.value, amount.error, screen.units, screen.glyphs)
    return counted_estimate(amount.value, amount.error, screen.glyphs)


def _cells(screen: Screen, pair: Pair, *, is_size: bool) -> tuple[str, ...]:
    delta = _amount_text(screen, _Amount(pair.delta, pair.delta_error), is_size=is_size)
    sides = (
        _amount_text(screen, _Amount(side.value, side.error), is_size=is_size)
        if side.sites
        else "-"
        for side in (pair.before, pair.after)
    )
    return pair.change.value, _signed(delta) if pair.delta else "0", *sides


def _print_rows(screen: Screen, view: DiffView, *, has_stacks: bool) -> None:
    is_size = size_column(view.sort) == sort_column(view.sort)
    rows = [_cells(screen, row.pair, is_size=is_size) for row in view.rows]
    titles = ("CHANGE", "BY", "BEFORE", "AFTER")
    widths = column_widths(titles, rows)
    last = (view.group.value if view.group else "location").upper()
    screen.line(("".join(pad_cells(titles, widths)) + last, "bold"))
    locations = locate_rows(screen, view.rows, view.group, widths)
    for row, cells, location in zip(view.rows, rows, locations, strict=True):
        word, delta, *numbers = pad_cells(cells, widths)
        style = _STYLES[row.pair.change]
        print_location(
            screen, [(word + delta, style), *numbers], location, has_callers=not has_stacks
        )
        if has_stacks:
            print_stack(screen, row.origin.stack, row.origin.responsible)
