"""`heapglass log`: what a text log of allocator calls tells."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from heapglass.analysis.leaks import Remainder
from heapglass.cli.arguments import (
    add_count_option,
    add_force_option,
    add_output_options,
    add_wrapper_option,
    chosen_plumbing,
)
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.site_list import blocks_text, print_site_list, print_title, site_numbers
from heapglass.cli.source import check_name
from heapglass.cli.target import check_free, spare_inputs
from heapglass.convert.recording import write_recording
from heapglass.errors import UsageError
from heapglass.launch.voice import say
from heapglass.symbols.symbolizer import Symbolizer
from heapglass.text import printable
from heapglass.textlog.allocator import keep_freed_memory
from heapglass.textlog.log import Log, read_log
from heapglass.textlog.opening import LogInput, open_log, parse_endpoint, receive_log
from heapglass.units import format_count, format_share, format_size
from heapglass.views.json.log import log_document
from heapglass.views.log import BadFreeRow, LogProcessView, LogQuery, LogView, build_log
from heapglass.views.text.labels import place_text, short_name

NAME = "log"
HELP = "analyse a text log of allocator calls"

_DESCRIPTION = """\
Reads a text log of allocator calls, as programs under heapglass or malloc-stat
write it to descriptor 1022 (docs/log-format.md): what was never freed and where
it came from, totals and peak, who allocates most, double frees and frees of
unknown blocks. FILE may be a pipe, and compressed with gzip or zstd."""
_EXAMPLES = """\
examples:
  heapglass log program.log     # of: LD_PRELOAD=... ./program 1022>program.log
  heapglass log --listen 4000   # of: ... ./program 1022>/dev/tcp/localhost/4000
  heapglass log --json program.log.zst | jq '.processes[0].leaks[0]'
  heapglass log --convert program.heapglass program.log"""

_TITLES = {Remainder.LEAKED: "Leaked", Remainder.LEFT: "Left", Remainder.LIVE: "Live"}
_ENDS = {Remainder.LEAKED: "ended", Remainder.LEFT: "end not seen", Remainder.LIVE: "running"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("file", metavar="FILE", nargs="?", help="the log; - for the standard input")
    parser.add_argument(
        "--listen",
        type=_endpoint_argument,
        metavar="HOST:PORT",
        help="receive the log over TCP, from one connection until it ends or Ctrl-C is pressed;"
        " without HOST from this machine only",
    )
    parser.add_argument(
        "--convert",
        metavar="OUT",
        help="make a recording of it that all other commands read, and say nothing else",
    )
    add_force_option(parser)
    parser.add_argument(
        "--pid",
        type=int,
        metavar="PID",
        help="only this one of several processes in the log; --convert takes the one with the most"
        " calls",
    )
    add_count_option(parser, "--top", "rows in each list, 0 for all (default: 10)", default=10)
    add_wrapper_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    out = _output_path(args)
    keep_freed_memory()
    log = _only(read_log(_open(args)), args.pid)
    if out is not None:
        write_recording(log.heaps[0], out)
        return 0
    view = build_log(log, Symbolizer, LogQuery(args.top, chosen_plumbing(args)))
    if args.json:
        print_json(log_document(view))
    else:
        print_log(open_screen(args), view)
    return 0


def _endpoint_argument(text: str) -> tuple[str, int]:
    try:
        return parse_endpoint(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _output_path(args: argparse.Namespace) -> Path | None:
    if args.convert is None:
        return None
    path = Path(args.convert)
    spare_inputs(path, [args.file or ""], "--convert")
    check_free(path, is_forced=args.force, option="--convert")
    return path


def _open(args: argparse.Namespace) -> LogInput:
    if (args.file is None) == (args.listen is None):
        raise UsageError("give either a FILE or --listen; see 'heapglass log --help'")
    if args.listen is not None:
        host, port = args.listen
        return receive_log(host, port, say)
    check_name(args.file)
    return open_log(args.file)


def _only(log: Log, pid: int | None) -> Log:
    if pid is None:
        return log
    heaps = tuple(heap for heap in log.heaps if heap.process.pid == pid)
    if not heaps:
        known = ", ".join(str(heap.process.pid) for heap in log.heaps[:10])
        raise UsageError(f"{log.name} tells nothing about process {pid}, but about {known}")
    return replace(log, heaps=heaps)


# ---- on the screen


def print_log(screen: Screen, view: LogView) -> None:
    for number, process in enumerate(view.processes):
        if number:
            screen.line()
        _print_process(screen, process)
    _print_problems(screen, view)
    screen.line()
    entries, lines = format_count(view.entries), format_count(view.lines)
    end = "; it ends within a line" if view.is_cut else ""
    screen.line((f"{entries} entries in {lines} lines of {printable(view.name)}{end}", "dim"))


def _print_process(screen: Screen, view: LogProcessView) -> None:
    screen.caveats(view.caveats)
    screen.line((printable(view.process.executable) or "[unknown program]", "bold"))
    threads = "1 thread" if view.thread_count == 1 else f"{view.thread_count} threads"
    screen.line(f"pid {view.process.pid}, {_ENDS[view.remainder]}, {threads}")
    _print_totals(screen, view)
    _print_leaks(screen, view)
    _print_left(screen, view)
    _print_callers(screen, view)
    _print_bad_frees(screen, view)
    screen.warnings(view.warnings)


def _print_totals(screen: Screen, view: LogProcessView) -> None:
    totals = view.totals
    rows = [
        ("Allocated", blocks_text(totals.allocations), totals.bytes_allocated),
        ("Freed", blocks_text(totals.frees), totals.bytes_freed),
        (_TITLES[view.remainder], blocks_text(totals.live_blocks), totals.live_bytes),
        ("Peak", "", totals.peak_bytes),
    ]
    width = max(len(count) for _, count, _ in rows)
    screen.line()
    for word, count, size in rows:
        number = f"{format_size(size, screen.units):>8}"
        screen.line(f"  {word:<9}  {count:>{width}}  ", (number, "bold"))
    calls = ", ".join(f"{name} {format_count(count)}" for name, count in view.calls.items())
    if view.faults.failed:
        calls += f"; {format_count(view.faults.failed)} of them failed"
    screen.paragraph(calls, "  Calls      ", "dim")


def _print_leaks(screen: Screen, view: LogProcessView) -> None:
    totals = view.totals
    if not totals.live_blocks:
        print_title(screen, _TITLES[view.remainder], "nothing")
        return
    size = format_size(totals.live_bytes, screen.units)
    note = f"{size} in {blocks_text(totals.live_blocks)}"
    if not view.has_stacks:
        print_title(screen, _TITLES[view.remainder], f"{note}; the log has no stacks")
        return
    sites = format_count(view.leaking_site_count)
    note += f" from {sites} site{'' if sites == '1' else 's'}"
    print_title(screen, _TITLES[view.remainder], note)
    numbers = site_numbers(screen, view.leaks, "live", totals.live_bytes)
    print_site_list(screen, view.leaks, numbers)


def _print_left(screen: Screen, view: LogProcessView) -> None:
    if not view.left:
        return
    print_title(screen, "Largest blocks left", "and the entries they came with")
    lines = [f"line {format_count(block.line)}" for block in view.left]
    width = max(map(len, lines))
    for block, line in zip(view.left, lines, strict=True):
        size = format_size(block.size, screen.units)
        thread = f"  thread {block.tid}" if block.tid else ""
        screen.line(f"  {size:>8}  {block.address:#014x}  {line:>{width}}  {block.call}{thread}")


def _print_callers(screen: Screen, view: LogProcessView) -> None:
    if not view.has_stacks or not view.callers:
        return
    whole = view.totals.allocations
    print_title(screen, "Top callers", "by allocations")
    numbers = []
    for row in view.callers:
        count = format_count(row.counters.allocations)
        share = format_share(row.counters.allocations, whole)
        size = format_size(row.counters.bytes_allocated, screen.units)
        numbers.append(f"  {count:>13}  {share:>4}  {size:>8}  ")
    print_site_list(screen, view.callers, numbers)


def _print_bad_frees(screen: Screen, view: LogProcessView) -> None:
    faults = view.faults
    count = faults.double_frees + faults.unknown_frees
    if not count:
        return
    double, unknown = format_count(faults.double_frees), format_count(faults.unknown_frees)
    print_title(screen, "Wrong frees", f"{double} double, {unknown} of unknown blocks")
    for row in view.bad_frees:
        screen.line(_bad_free_text(screen, row))
    _print_rest(screen, count - len(view.bad_frees))


def _bad_free_text(screen: Screen, row: BadFreeRow) -> str:
    free = row.free
    thread = f"  thread {free.tid}" if free.tid else ""
    text = f"  {free.kind.value:<7}  {free.address:#014x}  line {format_count(free.line)}{thread}"
    if row.responsible is None:
        return text
    name = short_name(row.responsible, None, screen.glyphs)
    return f"{text}  {name}  {place_text(row.responsible)}"


def _print_problems(screen: Screen, view: LogView) -> None:
    if not view.problem_count:
        return
    count = format_count(view.problem_count)
    print_title(screen, "Not understood", f"{count} line{'' if count == '1' else 's'}")
    for problem in view.problems:
        excerpt = f": {printable(problem.excerpt)}" if problem.excerpt else ""
        screen.paragraph(problem.what + excerpt, f"  line {format_count(problem.line)}  ", "")
    _print_rest(screen, view.problem_count - len(view.problems))


def _print_rest(screen: Screen, more: int) -> None:
    if more > 0:
        screen.line((f"  and {format_count(more)} more", "dim"))
