"""`heapglass timeline`: memory over time, drawn in the terminal."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from heapglass.analysis.series import highest, highest_in_columns, rates_in_columns
from heapglass.cli.arguments import (
    add_count_option,
    add_filter_options,
    add_min_option,
    add_output_options,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
    chosen_units,
)
from heapglass.cli.output import Screen, location_room, open_screen, print_json, print_location
from heapglass.cli.scope import TimeScope, add_history_scope, open_history
from heapglass.cli.source import add_debuginfod_option
from heapglass.text import printable
from heapglass.units import format_compact, format_count, format_duration, format_size
from heapglass.views.json.timeline import timeline_document
from heapglass.views.locations import locate_sites
from heapglass.views.text.estimates import counted_estimate, size_text, sized_estimate
from heapglass.views.text.glyphs import draw_columns
from heapglass.views.text.plot import Axis, draw_plot, place_labels
from heapglass.views.timeline import Curve, SiteCurve, TimelineQuery, TimelineView, build_timeline

NAME = "timeline"
HELP = "draw memory over time"

_DESCRIPTION = """\
Draws memory over time, with the peak and the program's own marks, and below it
the sites that held most at the peak, each with a curve of its own. With filters
the curve is that of the sites that match, as the snapshots have it."""
_EXAMPLES = """\
examples:
  heapglass timeline server.1234.heapglass
  heapglass timeline --show bytes --since 10s --until 20s server.1234.heapglass
  heapglass timeline --function cache_insert server.1234.heapglass@90s"""

_TITLES = {
    Curve.LIVE: "Live bytes",
    Curve.BLOCKS: "Live blocks",
    Curve.USABLE: "Live bytes as the allocator set them aside",
    Curve.BYTES: "Bytes allocated per second",
    Curve.ALLOCATIONS: "Allocations per second",
}
_HEIGHT = 12
_LABEL_WIDTH = 10  # of the plot's left side, with the axis
_SMALL_WIDTH = 20
_MARK_LINES = 4
_LEAST_LOCATION = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_history_scope(parser)
    parser.add_argument(
        "--show",
        choices=[curve.value for curve in Curve],
        default=Curve.LIVE.value,
        metavar="CURVE",
        help="live bytes (the default), blocks, usable bytes, or bytes or allocations per second",
    )
    add_count_option(
        parser, "--top", "sites with a curve of their own, 0 for none (default: 5)", default=5
    )
    add_filter_options(parser)
    add_min_option(parser, "only sites that held at least SIZE at a snapshot, the peak or the end")
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    scope = open_history(args)
    view = build_timeline(scope.heap, scope.names, _query(args, scope))
    if args.json:
        print_json(timeline_document(scope.heap, view))
    else:
        print_timeline(open_screen(args), view)
    return 0


def print_timeline(screen: Screen, view: TimelineView) -> None:
    screen.caveats(view.caveats)
    width = screen.width - _LABEL_WIDTH
    screen.line((_TITLES[view.curve], "bold"), (_matched(view), "dim"))
    if not view.series.value.any():
        screen.line(("Nothing to draw: it was 0 throughout.", "dim"))
        return
    *area, floor, labels = _plot_lines(screen, view, width)
    for line in area:
        screen.line((line[:_LABEL_WIDTH], "dim"), (line[_LABEL_WIDTH:], "green"))
    screen.line((floor, "dim"))
    screen.line((labels, "dim"))
    _print_peak(screen, view, width)
    _print_marks(screen, view, width)
    _print_sites(screen, view)
    screen.warnings(view.warnings)


def _matched(view: TimelineView) -> str:
    if view.matched is None:
        return ""
    return f"  of {format_count(view.matched)} site{'' if view.matched == 1 else 's'}"


def _query(args: argparse.Namespace, scope: TimeScope) -> TimelineQuery:
    return TimelineQuery(
        curve=Curve(args.show),
        filters=chosen_filters(args),
        sites=scope.sites,
        min_bytes=args.min or 0,
        since_ns=scope.since_ns,
        until_ns=scope.until_ns,
        top=args.top,
        units=chosen_units(args),
        plumbing=chosen_plumbing(args),
    )


def _plot_lines(screen: Screen, view: TimelineView, width: int) -> list[str]:
    to_columns = rates_in_columns if view.curve.is_rate else highest_in_columns
    values = to_columns(view.series, view.first_ns, view.last_ns, width).tolist()
    text: Callable[[int], str] = format_compact
    if view.curve.is_size:
        text = lambda size: format_size(size, screen.units)  # noqa: E731 (two functions, one name)
    top = round(max(values))
    vertical = Axis("0".rjust(_LABEL_WIDTH - 2), text(top // 2), text(top))
    middle = (view.first_ns + view.last_ns) // 2
    start = format_duration(view.first_ns) if view.first_ns else "0"
    horizontal = Axis(start, format_duration(middle), format_duration(view.last_ns))
    return draw_plot(values, _HEIGHT, vertical, horizontal, screen.glyphs)


def _print_peak(screen: Screen, view: TimelineView, width: int) -> None:
    """Of the process; or where the curve of some sites was highest."""
    if view.peak_ns is not None:
        size = format_size(view.peak_bytes, screen.units)
        text, at = f"peak {size}", view.peak_ns
    elif view.matched is not None and not view.curve.is_rate:
        at, value, error = highest(view.series)
        if view.curve.is_size:
            text = f"highest {sized_estimate(value, error, screen.units, screen.glyphs)}"
        else:
            text = f"highest {counted_estimate(value, error, screen.glyphs)}"
    else:
        return
    labels = [(_column(view, at, width), f"{text} after {format_duration(at)}")]
    (line,), _ = place_labels(labels, width, 1, screen.glyphs)
    screen.line(" " * _LABEL_WIDTH, (line, "bold"))


def _print_marks(screen: Screen, view: TimelineView, width: int) -> None:
    labels = [(_column(view, mark.time_ns, width), printable(mark.name)) for mark in view.marks]
    lines, left_out = place_labels(labels, width, _MARK_LINES, screen.glyphs, is_cut=screen.is_cut)
    for line in lines:
        screen.line(" " * _LABEL_WIDTH, (line, "cyan"))
    if not screen.is_cut:
        for index in left_out:
            mark = view.marks[index]
            time = f"{format_duration(mark.time_ns):>{_LABEL_WIDTH}}  "
            screen.line(time, (printable(mark.name), "cyan"), hang=len(time))
    elif left_out:
        more = f"{format_count(len(left_out))} more mark{'' if len(left_out) == 1 else 's'}"
        screen.line(" " * _LABEL_WIDTH, (f"{more}; --json has them all", "dim"))


def _column(view: TimelineView, time_ns: int, width: int) -> int:
    span = max(1, view.last_ns - view.first_ns)
    return min(width - 1, (time_ns - view.first_ns) * width // span)


def _print_sites(screen: Screen, view: TimelineView) -> None:
    if not view.sites:
        return
    sizes = [
        size_text(one.row.counters, "peak_bytes", screen.units, screen.glyphs) for one in view.sites
    ]
    width = max(map(len, sizes))
    taken = 2 + width + 2 + _SMALL_WIDTH + 2
    room = location_room(screen, taken, _LEAST_LOCATION)
    locations = locate_sites([one.row for one in view.sites], room, screen.glyphs)
    screen.line()
    note = f"  at the peak; curves of {format_count(view.snapshots)} snapshots"
    screen.line(("Sites that held most", "bold"), (note, "dim"))
    for one, size, location in zip(view.sites, sizes, locations, strict=True):
        curve = _small_curve(screen, view, one)
        print_location(screen, [f"  {size:>{width}}  ", (curve, "green"), "  "], location)


def _small_curve(screen: Screen, view: TimelineView, one: SiteCurve) -> str:
    values = highest_in_columns(one.series, view.first_ns, view.last_ns, _SMALL_WIDTH)
    return draw_columns(values.astype(int).tolist(), screen.glyphs)
