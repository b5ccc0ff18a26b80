"""`heapglass table`: sites, or groups of them, one per row."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

from heapglass.analysis.grouping import GroupBy
from heapglass.cli.annotated_list import print_annotated
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_sort_option,
    add_stacks_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_sort,
    chosen_units,
)
from heapglass.cli.output import Screen, location_room, open_screen, print_json, print_location
from heapglass.cli.scope import add_scope_arguments, open_scope
from heapglass.cli.source import Opened, add_debuginfod_option
from heapglass.cli.stack_lines import print_stack
from heapglass.errors import UsageError
from heapglass.units import format_count
from heapglass.views.groups import GroupView, build_groups
from heapglass.views.json.documents import group_document, table_document
from heapglass.views.locations import GAP, Location, fill_lines, locate_groups, locate_sites
from heapglass.views.selection import TableQuery
from heapglass.views.table import TableView, build_table
from heapglass.views.text.columns import Column, ColumnQuery, choose_columns, lay_out

NAME = "table"
HELP = "list allocation sites with their counters"

_DESCRIPTION = """\
Lists allocation sites, that is distinct call stacks, one row each with its
counters: bytes and blocks not freed, live bytes at the process's peak,
allocations, and how many of these were temporary, freed before the thread's
next allocation."""
_EXAMPLES = """\
examples:
  heapglass table --sort leaked --stacks server.1234.heapglass
  heapglass table --group function --min 1M server.1234.heapglass
  heapglass table --module libssl --function handshake s.heapglass
  heapglass table --since 10s --until 20s server.1234.heapglass
  heapglass table --json s.heapglass | jq '.sites[0].stack[].function'"""

_LEAST_LINES = 10
_FRAME_LINES = 6  # title, footer, prompt, and some air
_STACKS_SHOWN = 10
_LEAST_LOCATION = 12


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_scope_arguments(parser)
    add_sort_option(parser, "the column that rows are sorted by")
    add_group_option(
        parser,
        (by.value for by in GroupBy),
        "put sites together by the function, file or module of their responsible frame, or"
        " split them by thread",
    )
    add_filter_options(parser)
    add_min_option(
        parser, "only rows of at least SIZE, such as 64k or 1.5MiB, in what is sorted by"
    )
    add_count_option(
        parser, "--limit", "only the first N rows, 0 for all (default: what fits the screen)"
    )
    add_stacks_option(parser)
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    by = GroupBy(args.group) if args.group else None
    if by is not None and args.stacks:
        raise UsageError("--stacks shows the stacks of sites and cannot be used with --group")
    query = _query(args)
    opened = open_scope(args)
    if args.json:
        _print_document(opened, query, by)
        return 0
    screen = open_screen(args)
    lines = _room_for_rows(screen) if args.limit is None else None
    if lines:
        query = replace(query, limit=_STACKS_SHOWN if args.stacks else lines)
    if by is None:
        view = build_table(opened.heap, opened.names, query)
        _print_sites(screen, view, lines, has_stacks=args.stacks)
    else:
        _print_groups(screen, build_groups(opened.heap, opened.names, query, by))
    return 0


def _query(args: argparse.Namespace) -> TableQuery:
    return TableQuery(
        sort=chosen_sort(args),
        filters=chosen_filters(args),
        min_bytes=args.min or 0,
        limit=args.limit or 0,
        has_members=args.json,
        units=chosen_units(args),
        plumbing=chosen_plumbing(args),
    )


def _room_for_rows(screen: Screen) -> int | None:
    """Lines of the screen; None: there is no end to them."""
    return None if screen.height is None else max(_LEAST_LINES, screen.height - _FRAME_LINES)


def _print_document(opened: Opened, query: TableQuery, by: GroupBy | None) -> None:
    heap, names = opened.heap, opened.names
    if by is None:
        print_json(table_document(heap, build_table(heap, names, query)))
    else:
        print_json(group_document(heap, build_groups(heap, names, query, by)))


def _print_sites(screen: Screen, view: TableView, lines: int | None, *, has_stacks: bool) -> None:
    """`lines` of the screen may be taken; None: as many as it takes."""
    columns = choose_columns(_column_query(screen, view))
    titles, cells = lay_out(columns, [row.counters for row in view.rows])
    room = location_room(screen, _taken(titles), _LEAST_LOCATION)
    locations = locate_sites(view.rows, room, screen.glyphs)
    if lines is not None and not has_stacks:
        locations = fill_lines(locations, lines)
        view, cells = replace(view, rows=view.rows[: len(locations)]), cells[: len(locations)]
    screen.caveats(view.caveats)
    _print_titles(screen, columns, titles, "LOCATION")
    for row, numbers, location in zip(view.rows, cells, locations, strict=True):
        _print_row(screen, columns, numbers, location, has_callers=not has_stacks)
        if has_stacks:
            print_stack(screen, row.stack, row.responsible)
    _print_footer(screen, view, "site")
    print_annotated(screen, view.annotated)
    screen.warnings(view.warnings)


def _print_groups(screen: Screen, view: GroupView) -> None:
    columns = choose_columns(_column_query(screen, view))
    titles, cells = lay_out(columns, [group.counters for group in view.rows])
    room = screen.room(_taken(titles), _LEAST_LOCATION)
    locations = locate_groups(view.rows, view.by, room, screen.glyphs)
    screen.caveats(view.caveats)
    _print_titles(screen, columns, titles, view.by.value.upper())
    for numbers, location in zip(cells, locations, strict=True):
        _print_row(screen, columns, numbers, location)
    is_thread = view.by is GroupBy.THREAD  # one row may be several
    _print_footer(screen, view, "thread group" if is_thread else view.by.value)
    screen.warnings(view.warnings)


def _column_query(screen: Screen, view: TableView | GroupView) -> ColumnQuery:
    return ColumnQuery(
        view.sort,
        view.sum,
        view.remainder,
        screen.width,
        screen.units,
        screen.glyphs,
        view.absent,
    )


def _taken(titles: Sequence[str]) -> int:
    return sum(len(title) + GAP for title in titles)


def _print_titles(
    screen: Screen, columns: Sequence[Column], titles: Sequence[str], last: str
) -> None:
    gap = " " * GAP
    parts = [
        (title + gap, "bold underline" if column.is_sorted else "bold")
        for column, title in zip(columns, titles, strict=True)
    ]
    screen.line(*parts, (last, "bold"))


def _print_row(
    screen: Screen,
    columns: Sequence[Column],
    numbers: Sequence[str],
    location: Location,
    *,
    has_callers: bool = True,
) -> None:
    gap = " " * GAP
    parts = [
        (number + gap, "green" if column.is_bar else "bold" if column.is_sorted else "")
        for column, number in zip(columns, numbers, strict=True)
    ]
    print_location(screen, parts, location, has_callers=has_callers)


def _print_footer(screen: Screen, view: TableView | GroupView, noun: str) -> None:
    if view.matched == 0:
        screen.line((f"No {noun}s to show.", "dim"))
        return
    shown = len(view.rows)
    count = f"{format_count(view.matched)} {noun}{'' if view.matched == 1 else 's'}"
    if shown < view.matched:
        count = f"{format_count(shown)} of {count}"
    more = "; --limit 0 shows all" if shown < view.matched else ""
    screen.line((f"{count}, sorted by {view.sort.value}{more}", "dim"))
