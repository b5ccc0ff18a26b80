"""`heapglass leaks`: what has not been freed, the most certain leaks first."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from heapglass.analysis.grouping import GroupBy
from heapglass.analysis.leaks import Remainder
from heapglass.analysis.suppressions import Suppression, parse_suppressions
from heapglass.analysis.suspects import Certainty
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_group_option,
    add_min_option,
    add_output_options,
    add_stacks_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_units,
    size_argument,
    time_argument,
)
from heapglass.cli.located_rows import column_widths, locate_rows, pad_cells
from heapglass.cli.output import Part, Screen, open_screen, print_json, print_location
from heapglass.cli.scope import TimeScope, add_block_options, add_moment_argument, open_leaks
from heapglass.cli.source import add_debuginfod_option
from heapglass.cli.stack_lines import print_stack
from heapglass.errors import UsageError
from heapglass.model.spread import join_spreads
from heapglass.units import format_count, format_duration, format_share, format_size
from heapglass.views.json.leaks import leaks_document
from heapglass.views.leaks import FreedAtEnd, LeakQuery, LeakRow, LeaksView, LeftOut, build_leaks
from heapglass.views.text.estimates import blocks_estimate, counted_estimate, sized_estimate

NAME = "leaks"
HELP = "list what was never freed, the most certain leaks first"

_DESCRIPTION = """\
Lists what was not freed, site by site, the most certain leaks first:
  growing  the site allocated all along, and held more and more
  kept     the blocks are old, and did not become more; perhaps kept on purpose
  recent   half of the blocks are younger than a tenth of the time: maybe in use
Blocks that runtimes never free on purpose are left out; a line says how many.
FILE@MOMENT shows what was live at MOMENT. Snapshots know no ages of blocks."""
_EXAMPLES = """\
examples:
  heapglass leaks --stacks server.1234.heapglass
  heapglass leaks --suppressions lsan.supp --fail server.1234.heapglass
  heapglass leaks --since 10s --min 64k --max-bytes 1M server.1234.heapglass
  heapglass leaks --fail-growing server.1234.heapglass@90s"""

_TITLES = {
    Remainder.LIVE: "Live",
    Remainder.LEAKED: "Leaked",
    Remainder.LEFT: "Left when it ended",
}
_STYLES = {Certainty.GROWING: "bold red", Certainty.KEPT: "yellow", Certainty.RECENT: "dim"}
_ROWS = 20
_STACKS_SHOWN = 5
_FREED_SHOWN = 5
_BUILT_IN = Path(__file__).parent / "suppressions" / "builtin.supp"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_moment_argument(parser)
    add_block_options(parser)
    parser.add_argument(
        "--suppressions",
        action="append",
        default=[],
        metavar="FILE",
        help="leave out what FILE, in LeakSanitizer's format, suppresses; may be given several"
        " times",
    )
    parser.add_argument(
        "--no-built-in", action="store_true", help="use none of heapglass's own suppressions"
    )
    add_group_option(
        parser,
        (by.value for by in GroupBy if by is not GroupBy.THREAD),
        "put sites together by function, file or module",
    )
    add_filter_options(parser)
    add_min_option(parser, "only sites that hold at least SIZE")
    parser.add_argument(
        "--min-age",
        type=time_argument,
        default=0,
        metavar="TIME",
        help="only sites with blocks at least this old, such as 10s",
    )
    add_count_option(
        parser, "--limit", f"only the first N rows, 0 for all (default: {_ROWS}, all in JSON)"
    )
    add_stacks_option(parser)
    parser.add_argument("--fail", action="store_true", help="exit with 1 if there is any row")
    parser.add_argument(
        "--fail-growing", action="store_true", help="exit with 1 if any row is growing"
    )
    parser.add_argument(
        "--max-bytes",
        type=size_argument,
        metavar="SIZE",
        help="exit with 1 if the rows hold more than SIZE in all",
    )
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    if args.group and args.stacks:
        raise UsageError("--stacks shows the stacks of sites and cannot be used with --group")
    suppressions = tuple(_suppressions(args))
    scope = open_leaks(args)
    view = build_leaks(scope.heap, scope.names, _query(args, scope, suppressions))
    if args.json:
        print_json(leaks_document(scope.heap, view))
    else:
        print_leaks(open_screen(args), view, has_stacks=args.stacks)
    return _exit_code(args, view)


def print_leaks(screen: Screen, view: LeaksView, *, has_stacks: bool) -> None:
    screen.caveats(view.caveats)
    size = sized_estimate(view.size_bytes, view.bytes_error, screen.units, screen.glyphs)
    noun = "site" if view.group is None else view.group.value
    rows = f"{format_count(view.matched)} {noun}{'' if view.matched == 1 else 's'}"
    blocks = blocks_estimate(view.blocks, view.blocks_error, screen.glyphs)
    nothing = "nothing that was sampled" if view.may_miss else "nothing"
    what = f"{size} in {blocks} from {rows}" if view.matched else nothing
    title = _TITLES[view.remainder] if view.knows_ages else "Live then"
    screen.line((title, "bold"), f"  {what}")
    if view.rows:
        screen.line()
        ages = view.knows_ages
        _print_rows(screen, view.rows, view.group, has_ages=ages, has_stacks=has_stacks)
    _print_left_out(screen, view)
    if view.freed is not None:
        _print_freed(screen, view, view.freed)
    screen.warnings(view.warnings)


def _suppressions(args: argparse.Namespace) -> Iterator[Suppression]:
    """The user's own first: what is left out is put down to the first that fits."""
    for name in args.suppressions:
        try:
            text = Path(name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise UsageError(f"{name} cannot be read: {error.strerror}") from None
        yield from parse_suppressions(text, name)
    if not args.no_built_in:
        yield from built_in_suppressions()


def built_in_suppressions() -> Iterator[Suppression]:
    """Of what the C and C++ runtimes keep."""
    yield from parse_suppressions(_BUILT_IN.read_text(encoding="utf-8"), "")


def _query(
    args: argparse.Namespace, scope: TimeScope, suppressions: tuple[Suppression, ...]
) -> LeakQuery:
    default = 0 if args.json else _STACKS_SHOWN if args.stacks else _ROWS
    return LeakQuery(
        filters=chosen_filters(args),
        suppressions=suppressions,
        since_ns=scope.since_ns,
        until_ns=scope.until_ns,
        min_bytes=args.min or 0,
        min_age_ns=args.min_age,
        sites=scope.sites,
        limit=default if args.limit is None else args.limit,
        group=GroupBy(args.group) if args.group else None,
        units=chosen_units(args),
        plumbing=chosen_plumbing(args),
    )


def _exit_code(args: argparse.Namespace, view: LeaksView) -> int:
    is_over = args.max_bytes is not None and view.size_bytes > args.max_bytes
    is_failure = (args.fail and view.matched) or (args.fail_growing and view.growing)
    return 1 if is_over or is_failure else 0


def _print_rows(
    screen: Screen,
    rows: Sequence[LeakRow],
    group: GroupBy | None,
    *,
    has_ages: bool,
    has_stacks: bool,
) -> None:
    cells = [_cells(screen, row, has_ages=has_ages) for row in rows]
    titles = ("LEAK", "BYTES", "BLOCKS", *(("OLDEST",) if has_ages else ()))
    widths = column_widths(titles, cells)
    last = (group.value if group else "location").upper()
    screen.line(("".join(pad_cells(titles, widths)) + last, "bold"))
    locations = locate_rows(screen, rows, group, widths)
    for row, texts, location in zip(rows, cells, locations, strict=True):
        word, *numbers = pad_cells(texts, widths)
        before: list[Part] = [(word, _STYLES[row.certainty]), *numbers]
        print_location(screen, before, location, has_callers=not has_stacks)
        if has_stacks:
            print_stack(screen, row.origin.stack, row.origin.responsible)


def _cells(screen: Screen, row: LeakRow, *, has_ages: bool) -> tuple[str, ...]:
    return (
        row.certainty.value,
        sized_estimate(row.size_bytes, row.bytes_error, screen.units, screen.glyphs),
        counted_estimate(row.blocks, row.blocks_error, screen.glyphs),
        *((format_duration(row.oldest_ns or 0),) if has_ages else ()),
    )


def _print_freed(screen: Screen, view: LeaksView, freed: FreedAtEnd) -> None:
    size = format_size(freed.freed_bytes, screen.units)
    share = format_share(freed.freed_bytes, view.peak_bytes)
    then, end = format_duration(freed.time_ns), format_duration(view.duration_ns)
    screen.line()
    what = f"{size}, {share} of the peak, after the last snapshot at {then} of {end}"
    screen.paragraph(what, ("Freed at the end  ", "bold"), "")
    if freed.rows:
        stand_in = "The greatest sites of that snapshot stand in for the last moments:"
        screen.sentences([stand_in], "", "dim")
        screen.line()
        shown = freed.rows[:_FREED_SHOWN]
        _print_rows(screen, shown, view.group, has_ages=False, has_stacks=False)


def _print_left_out(screen: Screen, view: LeaksView) -> None:
    sentences = [
        f"{_amount(screen, [one])} left out, {one.reason}."
        for one in view.left_out
        if not one.is_built_in
    ]
    built_in = [one for one in view.left_out if one.is_built_in]
    if built_in:
        sentences.append(
            f"{_amount(screen, built_in)} of the C and C++ runtimes left out; --no-built-in shows"
            f" {'it' if sum(one.blocks for one in built_in) == 1 else 'them'}."
        )
    if len(view.rows) < view.matched:
        rows = f"{format_count(len(view.rows))} of {format_count(view.matched)} rows"
        sentences.append(f"{rows} shown; --limit 0 shows all.")
    if view.rows and not view.knows_growth:
        judged = "judged by the ages of its blocks alone" if view.knows_ages else "not known"
        sentences.append(f"No snapshot is near half time: what grows is {judged}.")
    if sentences:
        screen.line()
        screen.sentences(sentences, "", "dim")


def _amount(screen: Screen, left_out: Sequence[LeftOut]) -> str:
    size = sum(one.size_bytes for one in left_out)
    size_error = join_spreads(one.bytes_error for one in left_out)
    count = sum(one.blocks for one in left_out)
    blocks_error = join_spreads(one.blocks_error for one in left_out)
    blocks = blocks_estimate(count, blocks_error, screen.glyphs)
    return f"{sized_estimate(size, size_error, screen.units, screen.glyphs)} in {blocks}"
