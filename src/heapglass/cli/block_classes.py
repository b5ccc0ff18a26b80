"""What `heapglass sizes` and `heapglass ages` share: options, question and screen."""

from __future__ import annotations

import argparse

from heapglass.analysis.grouping import GroupBy
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_units,
)
from heapglass.cli.located_rows import column_widths, locate_rows, pad_cells
from heapglass.cli.output import Screen, open_screen, print_json, print_location
from heapglass.cli.scope import TimeScope, add_block_scope, open_blocks
from heapglass.cli.source import add_debuginfod_option
from heapglass.units import format_count
from heapglass.views.block_class_labels import draw_classes
from heapglass.views.block_classes import (
    ClassGroup,
    ClassKind,
    ClassQuery,
    ClassView,
    build_classes,
)
from heapglass.views.json.block_classes import classes_document
from heapglass.views.text.estimates import counted_estimate, error_text, sized_estimate
from heapglass.views.text.glyphs import draw_columns

_ROWS = 10


def add_class_arguments(parser: argparse.ArgumentParser) -> None:
    add_block_scope(parser)
    parser.add_argument(
        "--fine", action="store_true", help="classes by powers of two, up to the largest there is"
    )
    add_group_option(
        parser,
        (group.value for group in ClassGroup),
        "also a row for each site, function, file or module",
    )
    add_count_option(
        parser,
        "--limit",
        f"only the first N rows of --group, 0 for all (default: {_ROWS}; all in JSON)",
    )
    add_filter_options(parser)
    add_min_option(parser, "only blocks of at least SIZE")
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def run_classes(args: argparse.Namespace, kind: ClassKind) -> int:
    scope = open_blocks(args)
    view = build_classes(scope.heap, scope.names, _query(args, kind, scope))
    if args.json:
        print_json(classes_document(scope.heap, view))
    else:
        print_classes(open_screen(args), view)
    return 0


def print_classes(screen: Screen, view: ClassView) -> None:
    screen.caveats(view.caveats)
    size = sized_estimate(view.size_bytes, view.bytes_error, screen.units, screen.glyphs)
    width = max(len(format_count(view.allocations)), len(format_count(view.blocks)))
    screen.line(f"{format_count(view.allocations):>{width}}  overall allocations since start")
    error = error_text(view.blocks, view.blocks_error, screen.glyphs)
    noun = f"current allocations{error}"
    screen.line(f"{format_count(view.blocks):>{width}}  {noun}, {size}")
    screen.line()
    title, *bars = draw_classes(view, screen.width, screen.units, screen.glyphs)
    screen.line((title, "bold"))
    for bar in bars:
        screen.line(bar)
    if view.group is not None:
        _print_rows(screen, view)
    screen.warnings(view.warnings)


def _query(args: argparse.Namespace, kind: ClassKind, scope: TimeScope) -> ClassQuery:
    limit = args.limit if args.limit is not None else 0 if args.json else _ROWS
    return ClassQuery(
        kind=kind,
        is_fine=args.fine,
        group=ClassGroup(args.group) if args.group else None,
        filters=chosen_filters(args),
        since_ns=scope.since_ns,
        until_ns=scope.until_ns,
        sites=scope.sites,
        min_bytes=args.min or 0,
        limit=limit,
        units=chosen_units(args),
        plumbing=chosen_plumbing(args),
    )


def _print_rows(screen: Screen, view: ClassView) -> None:
    """Each row's classes as a little plot, from the smallest or youngest to the largest."""
    rows = [
        (
            draw_columns(row.counts[: len(view.classes)], screen.glyphs),
            sized_estimate(row.size_bytes, row.bytes_error, screen.units, screen.glyphs),
            counted_estimate(row.blocks, row.blocks_error, screen.glyphs),
        )
        for row in view.rows
    ]
    titles = (view.kind.value.upper() + "S", "BYTES", "BLOCKS")
    widths = column_widths(titles, rows)
    screen.line()
    screen.line(("".join(pad_cells(titles, widths)) + (view.group or "").upper(), "bold"))
    is_site = view.group is None or view.group is ClassGroup.SITE
    by = None if is_site else GroupBy(view.group or "")
    for location, cells in zip(locate_rows(screen, view.rows, by, widths), rows, strict=True):
        plot, *numbers = pad_cells(cells, widths)
        print_location(screen, [(plot, "green"), *numbers], location)
    if len(view.rows) < view.matched:
        shown = f"{format_count(len(view.rows))} of {format_count(view.matched)} rows"
        screen.line((f"{shown}; --limit 0 shows all", "dim"))
