"""What tree and flame graph are asked for: the same options, the same question."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from heapglass.analysis.tree import Direction, Merge, TreeShape
from heapglass.cli.arguments import (
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_sort_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_sort,
    chosen_units,
)
from heapglass.cli.progress import track
from heapglass.cli.scope import add_scope_arguments
from heapglass.cli.source import add_debuginfod_option
from heapglass.views.selection import TableQuery
from heapglass.views.tree import TreeQuery


def add_tree_arguments(parser: argparse.ArgumentParser) -> None:
    add_scope_arguments(parser)
    add_sort_option(parser, "what is counted")
    parser.add_argument(
        "--callers",
        action="store_true",
        help="the other way round: from the responsible functions out to their callers",
    )
    add_group_option(
        parser,
        (merge.value for merge in Merge),
        "what is one node: function (the default), line, file or module",
        default=Merge.FUNCTION.value,
    )
    add_filter_options(parser)
    add_min_option(parser, "leave out what is below SIZE (default: a hundredth of the whole)")
    parser.add_argument(
        "--all-frames",
        action="store_true",
        help="also allocator, runtime and container frames, and every step of a recursion",
    )
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def chosen_tree(args: argparse.Namespace) -> TreeQuery:
    shape = TreeShape(
        Direction.CALLERS if args.callers else Direction.CALLEES,
        Merge(args.group),
        None if args.all_frames else chosen_plumbing(args),
    )
    sites = TableQuery(
        sort=chosen_sort(args), filters=chosen_filters(args), units=chosen_units(args)
    )
    return TreeQuery(sites, shape, args.min)


def watch_stacks(sites: Sequence[int]) -> Iterator[int]:
    return track(sites, "putting stacks together")
