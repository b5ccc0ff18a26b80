"""`heapglass summary`: the whole process on one page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import zip_longest

from heapglass.analysis.leaks import Remainder
from heapglass.cli.annotated_list import print_annotated
from heapglass.cli.arguments import (
    add_count_option,
    add_output_options,
    add_wrapper_option,
    chosen_plumbing,
    chosen_units,
)
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.scope import add_moment_argument, open_moments
from heapglass.cli.site_list import print_site_list, print_title, site_numbers
from heapglass.cli.source import add_debuginfod_option
from heapglass.model import LiveUnit, Mark
from heapglass.text import printable
from heapglass.units import (
    format_compact,
    format_count,
    format_duration,
    format_size,
)
from heapglass.views.json.documents import summary_document
from heapglass.views.summary import (
    SummaryQuery,
    SummaryView,
    build_summary,
    command_text,
    state_text,
)
from heapglass.views.text.estimates import blocks_estimate, share_estimate, sized_estimate
from heapglass.views.text.histogram import draw_bars, lifetime_label, size_label
from heapglass.views.text.labels import shorten

NAME = "summary"
HELP = "show a process on one page: totals, peak, top sites"

_DESCRIPTION = """\
Shows a process on one page:
  - losses and approximations, if there are any
  - totals
  - the sites that owned the memory at the peak
  - the sites that own the memory that is left
  - sizes and lifetimes of blocks
  - the memory that heapglass itself took"""
_EXAMPLES = """\
examples:
  heapglass summary server.1234.heapglass
  heapglass summary --top 20 --wrapper 'x(m|re)alloc' server.1234.heapglass
  heapglass summary server.1234.heapglass@90s
  heapglass summary --json server.1234.heapglass | jq .totals.peak_bytes"""

_TWO_COLUMNS_FROM = 120
_MARKS_SHOWN = 20
_MARK_INDENT = 13
_TITLES = {
    Remainder.LIVE: "Live now",
    Remainder.LEAKED: "Leaked",
    Remainder.LEFT: "Left when it ended",
}
_WORDS = {Remainder.LIVE: "Live", Remainder.LEAKED: "Leaked", Remainder.LEFT: "Left"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_moment_argument(parser)
    add_count_option(parser, "--top", "sites in each list, 0 for none (default: 5)", default=5)
    add_wrapper_option(parser)
    add_debuginfod_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    query = SummaryQuery(args.top, chosen_units(args), chosen_plumbing(args))
    (opened,) = open_moments(args.source)
    view = build_summary(opened.heap, opened.names, query)
    if args.json:
        print_json(summary_document(view))
    else:
        print_summary(open_screen(args), view)
    return 0


def print_summary(screen: Screen, view: SummaryView) -> None:
    screen.caveats(view.caveats)
    _print_process(screen, view)
    _print_totals(screen, view)
    _print_peak(screen, view)
    _print_remaining(screen, view)
    print_annotated(screen, view.annotated)
    _print_marks(screen, view)
    _print_histograms(screen, view)
    _print_recorder(screen, view)
    screen.warnings(view.warnings)


def _print_process(screen: Screen, view: SummaryView) -> None:
    command = command_text(view.process)
    if screen.is_cut:
        command = shorten(command, screen.width, screen.glyphs)
    screen.line((command, "bold"))
    threads = "1 thread" if view.thread_count == 1 else f"{view.thread_count} threads"
    screen.line(f"pid {view.process.pid}, {state_text(view.process)}, {threads}")


def _print_totals(screen: Screen, view: SummaryView) -> None:
    rows = [
        ("Allocated", "allocations", "bytes_allocated", _churn(screen, view)),
        ("Freed", "frees", "bytes_freed", ""),
        (_WORDS[view.remainder], "live_blocks", "live_bytes", _slack(screen, view)),
        ("Peak", "", "peak_bytes", _peak_time(view)),
    ]
    rows = [row for row in rows if row[2] not in view.absent]
    counts = [_total_blocks(screen, view, name) for _, name, _, _ in rows]
    sizes = [_total_size(screen, view, name) for _, _, name, _ in rows]
    width, size_width = max(map(len, counts)), max(8, *map(len, sizes))
    screen.line()
    for (word, _, _, note), count, size in zip(rows, counts, sizes, strict=True):
        start = f"  {word:<9}  {count:>{width}}  "
        number = f"{size:>{size_width}}  "
        room = screen.room(len(start) + len(number))
        shown = note if room is None else shorten(note, room, screen.glyphs)
        screen.line(start, (number, "bold"), (shown, "dim"))
    screen.sentences(view.residency, "  ", "dim")


def _total_blocks(screen: Screen, view: SummaryView, name: str) -> str:
    """Nothing of what blocks are not counted of."""
    if not name:
        return ""
    return blocks_estimate(getattr(view.totals, name), getattr(view.errors, name), screen.glyphs)


def _total_size(screen: Screen, view: SummaryView, name: str) -> str:
    size, error = getattr(view.totals, name), getattr(view.errors, name)
    return sized_estimate(size, error, screen.units, screen.glyphs)


def _peak_time(view: SummaryView) -> str:
    """Nothing where no time is known: of a log without times, or below a tick of the clock."""
    if not view.process.duration_ns:
        return ""
    return f"after {format_duration(view.totals.peak_time_ns)}"


def _slack(screen: Screen, view: SummaryView) -> str:
    totals = view.totals
    if view.absent:
        return ""
    if totals.live_unit is LiveUnit.USABLE:
        return "usable bytes"
    return f"and {format_size(totals.slack_bytes, screen.units)} slack"


def _churn(screen: Screen, view: SummaryView) -> str:
    totals = view.totals
    if not totals.allocations or "temporary" in view.absent:
        return ""
    temporary = share_estimate(
        totals.temporary, totals.allocations, view.errors.temporary, screen.glyphs
    )
    reallocs = f"{format_compact(totals.reallocs)} realloc{'' if totals.reallocs == 1 else 's'}"
    return f"{temporary or 'too few samples to say how many are'} temporary, {reallocs}"


def _print_peak(screen: Screen, view: SummaryView) -> None:
    totals = view.totals
    size = format_size(totals.peak_bytes, screen.units)
    numbers = site_numbers(screen, view.at_peak, "peak", totals.peak_bytes)
    if view.at_peak:
        print_title(screen, "At the peak", f"{size} {_peak_time(view)}".rstrip())
        print_site_list(screen, view.at_peak, numbers)


def _print_remaining(screen: Screen, view: SummaryView) -> None:
    totals = view.totals
    if not view.remaining_site_count:
        # Where blocks are sampled there may be some, all of them missed.
        is_missed = totals.live_unit is LiveUnit.USABLE and totals.live_blocks > 0
        found = "nothing that was sampled" if is_missed else "nothing"
        print_title(screen, _remainder_title(view), found)
        return
    if not view.remaining:
        return
    size = _total_size(screen, view, "live_bytes")
    blocks = _total_blocks(screen, view, "live_blocks")
    sites = format_count(view.remaining_site_count)
    noun = "site" if sites == "1" else "sites"
    note = f"{size} in {blocks} from {sites} {noun}"
    numbers = site_numbers(screen, view.remaining, "live", totals.live_bytes)
    print_title(screen, _remainder_title(view), note)
    print_site_list(screen, view.remaining, numbers)


def _remainder_title(view: SummaryView) -> str:
    return "Live then" if view.absent else _TITLES[view.remainder]


def _print_marks(screen: Screen, view: SummaryView) -> None:
    marks = view.marks
    if not marks:
        return
    shown = marks if len(marks) <= _MARKS_SHOWN else marks[: _MARKS_SHOWN // 2]
    last = marks[len(marks) - _MARKS_SHOWN // 2 :] if len(shown) < len(marks) else ()
    print_title(screen, "Marks", format_count(len(marks)))
    _print_mark_lines(screen, shown)
    if last:
        screen.line((f"  {format_count(len(marks) - len(shown) - len(last))} more", "dim"))
        _print_mark_lines(screen, last)


def _print_mark_lines(screen: Screen, marks: Sequence[Mark]) -> None:
    for mark in marks:
        room = screen.room(_MARK_INDENT)
        name = printable(mark.name)
        if room is not None:
            name = shorten(name, room, screen.glyphs)
        screen.line(f"  {format_duration(mark.time_ns):>9}  {name}")


def _print_histograms(screen: Screen, view: SummaryView) -> None:
    width = screen.width
    glyphs = screen.glyphs
    size_labels = [size_label(bar, screen.units, glyphs) for bar in view.sizes]
    lifetime_labels = [lifetime_label(bar, glyphs) for bar in view.lifetimes]
    has_two = width >= _TWO_COLUMNS_FROM and bool(view.sizes) and bool(view.lifetimes)
    room = (width - 4) // 2 if has_two else width
    left = ["Sizes asked for", *draw_bars(view.sizes, size_labels, room, glyphs)]
    right = ["Lifetimes of freed blocks", *draw_bars(view.lifetimes, lifetime_labels, room, glyphs)]
    if has_two:
        both = zip_longest(left, right, fillvalue="")
        _print_block(screen, [f"{one:<{room + 4}}{other}" for one, other in both])
    else:
        _print_block(screen, left)
        _print_block(screen, right)


def _print_block(screen: Screen, lines: Sequence[str]) -> None:
    """A title and what is below it; nothing if nothing is."""
    title, *rest = lines
    if rest:
        screen.line()
        screen.line((title, "bold"))
        for line in rest:
            screen.line(line)


def _print_recorder(screen: Screen, view: SummaryView) -> None:
    recorder = view.recorder
    used = format_size(recorder.memory_bytes, screen.units)
    file = format_size(recorder.file_bytes, screen.units)
    sites = f"{format_count(view.site_count)} site{'' if view.site_count == 1 else 's'}"
    sentence = f"heapglass used {used}, {file} of it in the recording; {recorder.mode}, {sites}"
    screen.line()
    screen.sentences([sentence], "", "dim")
