"""`heapglass threads`: what each thread allocated and freed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from heapglass.analysis.counters import Errors
from heapglass.analysis.filters import compile_pattern
from heapglass.analysis.moments import MomentKind, moment_time_ns
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_thread_option,
    add_time_options,
    chosen_filters,
    chosen_units,
)
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.scope import split_moment
from heapglass.cli.source import Opened, add_debuginfod_option, add_source_argument, open_source
from heapglass.errors import UsageError
from heapglass.text import printable
from heapglass.units import format_count, format_duration, format_share
from heapglass.views.json.threads import threads_document
from heapglass.views.text.estimates import counted_estimate, sized_estimate
from heapglass.views.text.glyphs import draw_bar
from heapglass.views.text.labels import shorten
from heapglass.views.threads import ThreadQuery, ThreadRow, ThreadSort, ThreadsView, build_threads

NAME = "threads"
HELP = "list threads with what they allocated and freed"

_DESCRIPTION = """Lists the threads that allocated or freed: bytes and calls, NET, which is bytes
allocated less bytes freed, also of what other threads allocated, the share of
temporary allocations, and when each was first and last seen. To see the sites
of some threads, give --thread to table, tree or flamegraph."""
_EXAMPLES = """examples:
  heapglass threads server.1234.heapglass
  heapglass threads --group name --sort net server.1234.heapglass
  heapglass threads --function cache_insert server.1234.heapglass"""

_TITLES = ("BYTES", "SHARE", "", "FREED", "NET", "ALLOCS", "FREES", "TEMP", "FIRST", "LAST", "TID")
_BAR = 2  # the column that is one
_BAR_WIDTH = 8
_SORTED = {
    ThreadSort.BYTES: "BYTES",
    ThreadSort.ALLOCATIONS: "ALLOCS",
    ThreadSort.FREES: "FREES",
    ThreadSort.NET: "NET",
    ThreadSort.TEMPORARY: "TEMP",
    ThreadSort.FIRST: "FIRST",
}
_WIDE_FROM = {"": 100, "FREED": 100, "FREES": 100, "LAST": 100, "TEMP": 70, "FIRST": 70}
_LEAST_NAME = 12
_GAP = "  "


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_source_argument(parser)
    parser.add_argument(
        "--sort",
        choices=[sort.value for sort in ThreadSort],
        default=ThreadSort.BYTES.value,
        metavar="KEY",
        help="bytes (the default), allocations, frees, net, temporary, or first for the order in"
        " which they came",
    )
    add_group_option(parser, ["name"], "name: put threads of one name together")
    add_thread_option(parser)
    unseen = "without threads"
    add_time_options(parser, f"{unseen} last seen before", f"{unseen} first seen after")
    add_filter_options(parser)
    add_min_option(parser, "only rows of at least SIZE allocated")
    add_count_option(parser, "--limit", "only the first N rows", default=0)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    opened = _open(args.source)
    query = ThreadQuery(
        sort=ThreadSort(args.sort),
        pattern=compile_pattern(args.thread) if args.thread is not None else None,
        filters=chosen_filters(args),
        since_ns=moment_time_ns(opened.heap, args.since) if args.since else 0,
        until_ns=moment_time_ns(opened.heap, args.until) if args.until else None,
        min_bytes=args.min or 0,
        limit=args.limit,
        is_by_name=args.group is not None,
        units=chosen_units(args),
    )
    view = build_threads(opened.heap, opened.names, query)
    if args.json:
        print_json(threads_document(opened.heap, view))
    else:
        print_threads(open_screen(args), view)
    return 0


def _open(argument: str) -> Opened:
    path, moment = split_moment(argument)
    if moment is not None and moment.kind is not MomentKind.END:
        raise UsageError(
            "snapshots do not tell threads apart: use --since and --until to choose threads by when"
            " they were seen; 'heapglass table --group thread FILE@peak' has what they held then"
        )
    return open_source(path)


def print_threads(screen: Screen, view: ThreadsView) -> None:
    screen.caveats(view.caveats)
    kept = [
        index for index, title in enumerate(_TITLES) if screen.width >= _WIDE_FROM.get(title, 0)
    ]
    rows = [[_cells(screen, view, row)[index] for index in kept] for row in view.rows]
    titles = [_TITLES[index] for index in kept]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    sorted_by = _SORTED[view.sort]
    styles = ["bold" if title == sorted_by else "green" if not title else "" for title in titles]
    padded = _pad(titles, widths, kept)
    heads = [
        (cell, "bold underline" if title == sorted_by else "bold")
        for cell, title in zip(padded, titles, strict=True)
    ]
    screen.line(*heads, ("NAME", "bold"))
    room = screen.room(sum(map(len, padded)), _LEAST_NAME)
    for row, cells in zip(view.rows, rows, strict=True):
        screen.line(
            *zip(_pad(cells, widths, kept), styles, strict=True), (_name(screen, row, room), "cyan")
        )
    _print_footer(screen, view)


def _cells(screen: Screen, view: ThreadsView, row: ThreadRow) -> list[str]:
    errors = row.errors or Errors()
    share = row.bytes_allocated / view.bytes_allocated if view.bytes_allocated else 0.0
    count = len(row.tids)
    return [
        _size(screen, row.bytes_allocated, errors.bytes_allocated),
        format_share(row.bytes_allocated, view.bytes_allocated),
        draw_bar(share, _BAR_WIDTH, screen.glyphs),
        _size(screen, row.bytes_freed, errors.bytes_freed),
        _size(screen, row.net_bytes, errors.live_bytes),
        counted_estimate(row.allocations, errors.allocations, screen.glyphs),
        counted_estimate(row.frees, errors.frees, screen.glyphs),
        "-" if row.temporary is None else format_share(row.temporary, row.allocations),
        format_duration(row.first_seen_ns),
        format_duration(row.last_seen_ns),
        str(row.tids[0]) if count == 1 else f"{format_count(count)} threads",
    ]


def _size(screen: Screen, size: int, error: float) -> str:
    return sized_estimate(size, error, screen.units, screen.glyphs)


def _pad(cells: Sequence[str], widths: Sequence[int], kept: Sequence[int]) -> list[str]:
    return [
        (cell.ljust(width) if index == _BAR else cell.rjust(width)) + _GAP
        for cell, width, index in zip(cells, widths, kept, strict=True)
    ]


def _name(screen: Screen, row: ThreadRow, room: int | None) -> str:
    name = printable(row.name) or "[unnamed]"
    return name if room is None else shorten(name, room, screen.glyphs)


def _print_footer(screen: Screen, view: ThreadsView) -> None:
    noun = "name" if view.is_by_name else "thread"
    count = f"{format_count(view.matched)} {noun}{'' if view.matched == 1 else 's'}"
    shown = len(view.rows)
    more = f"{format_count(shown)} of " if shown < view.matched else ""
    screen.line((f"{more}{count}, sorted by {view.sort.value}", "dim"))
    screen.warnings(view.warnings)
