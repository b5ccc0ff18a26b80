"""`heapglass doctor`: how well a recording went and why, or what this machine can do."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from heapglass.cli.arguments import add_output_options, chosen_units
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.source import open_source
from heapglass.model import Finding, Severity, TableFill
from heapglass.text import printable
from heapglass.trial.machine import examine_machine
from heapglass.trial.scratch import scratch_directory
from heapglass.units import format_compact, format_count, format_share, format_size
from heapglass.views.doctor import DoctorView, ThreadRow, build_doctor, count, has_warnings
from heapglass.views.findings import whole_percent
from heapglass.views.json.doctor import doctor_document, machine_document
from heapglass.views.stat_rows import StatRow
from heapglass.views.summary import command_text, state_text
from heapglass.views.text.labels import shorten

NAME = "doctor"
HELP = "explain how well a recording went, or check this machine"

_DESCRIPTION = """\
With SOURCE, tells how well the recording of a process went:
  - what was lost, and what to do
  - where stacks came from, and so why the program is slow
  - how much memory heapglass itself took
Without SOURCE, tells whether this machine can record programs."""
_EXAMPLES = """\
examples:
  heapglass doctor
  heapglass doctor server.1234.heapglass
  heapglass doctor --check --json server.1234.heapglass | jq '.findings[].text'"""

_STYLES = {Severity.OK: "green", Severity.NOTE: "cyan", Severity.WARNING: "bold yellow"}
_THREADS_SHOWN = 10
_NAME_WIDTH = 15
_THREAD_WIDTH = 54  # of a thread's line without its name
_WIDE = 80


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "source", metavar="SOURCE", nargs="?", help="a recording made by 'heapglass run'"
    )
    parser.add_argument("--check", action="store_true", help="exit with 1 if there are warnings")
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    found = _recording(args) if args.source is not None else _machine(args)
    return 1 if args.check and has_warnings(found) else 0


def _machine(args: argparse.Namespace) -> tuple[Finding, ...]:
    with scratch_directory() as scratch:
        findings = examine_machine(scratch)
    if args.json:
        print_json(machine_document(findings))
        return findings
    screen = open_screen(args)
    screen.line((count(findings), "bold"))
    _print_findings(screen, findings)
    return findings


def _recording(args: argparse.Namespace) -> tuple[Finding, ...]:
    view = build_doctor(open_source(args.source).heap, chosen_units(args))
    if args.json:
        print_json(doctor_document(view))
    else:
        print_doctor(open_screen(args), view)
    return view.findings


def print_doctor(screen: Screen, view: DoctorView) -> None:
    screen.line((view.verdict, "bold"))
    command = command_text(view.process)
    if screen.is_cut:
        command = shorten(command, screen.width, screen.glyphs)
    screen.line(command)
    screen.line(f"pid {view.process.pid}, {state_text(view.process)}, {view.recorder.mode}")
    _print_findings(screen, view.findings)
    _print_stats(screen, view)
    _print_threads(screen, view)
    _print_tables(screen, view)


def _print_findings(screen: Screen, findings: Sequence[Finding]) -> None:
    screen.line()
    width = max(len(finding.subject) for finding in findings)
    for finding in findings:
        style = _STYLES[finding.severity]
        head = f"{finding.severity.value:<7}  {finding.subject:<{width}}  "
        screen.paragraph(finding.text, (head, style), "")
        if finding.action:
            screen.paragraph(finding.action, (" " * (len(head) - 2) + "> ", style), "italic")


def _print_stats(screen: Screen, view: DoctorView) -> None:
    screen.line()
    screen.line(("Where stacks came from", "bold"))
    write = format_count if screen.width >= _WIDE else format_compact
    labels = ["  " * (row.level + 1) + row.label for row in view.stats]
    counts = [write(row.count) for row in view.stats]
    width, count_width = max(map(len, labels)), max(map(len, counts))
    for row, label, number in zip(view.stats, labels, counts, strict=True):
        screen.line(f"{label:<{width}}  {number:>{count_width}}", (_stat_note(row, view), "dim"))


def _stat_note(row: StatRow, view: DoctorView) -> str:
    rates = view.rates
    if row.name == "frames" and rates.frames_per_walk is not None:
        each = f"  {rates.frames_per_walk:.1f} a walk"
        walks = format_compact(rates.counted_walks)
        return each if rates.are_frames_known else f"  of {walks} walks only"
    return f"  {format_share(row.count, row.whole):>4}" if row.whole is not None else ""


def _print_threads(screen: Screen, view: DoctorView) -> None:
    room = max(0, min(_NAME_WIDTH, screen.width - _THREAD_WIDTH))
    title = f"{'Threads':<{room + 12}}{'EVENTS':>8}  RECALLED  FRAMES   RULES    LOST"
    screen.line()
    screen.line((title, "bold"))
    for row in view.threads[:_THREADS_SHOWN]:
        name = printable(row.thread.name)
        if screen.is_cut:
            name = shorten(name, room, screen.glyphs)
        start = f"  {row.thread.tid:>8}  {name:<{room}}"
        screen.line(start, _thread_numbers(row, has_recalled=view.recorder.mode == "exact"))
    more = len(view.threads) - _THREADS_SHOWN
    if more > 0:
        screen.line((f"  and {more} more with fewer events; --json has them all", "dim"))


def _thread_numbers(row: ThreadRow, *, has_recalled: bool) -> str:
    rates = row.rates
    recalled = _percent(rates.recalled_share if has_recalled else None)
    frames = "-" if rates.frames_per_walk is None else f"{rates.frames_per_walk:.1f}"
    return (
        f"{format_compact(row.thread.events):>8}  {recalled:>8}  {frames:>6}"
        f"  {_percent(rates.rule_hit_share):>6}  {format_compact(row.lost):>6}"
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else whole_percent(share)


def _print_tables(screen: Screen, view: DoctorView) -> None:
    used = format_size(view.recorder.memory_bytes, screen.units)
    screen.line()
    screen.line(("Memory of heapglass", "bold"), f"  {used}")
    is_wide = screen.width >= _WIDE
    more = f"{'ROOM':>12}{'EXTENTS':>9}" if is_wide else ""
    screen.line((f"  {'':<22}{'RECORDS':>12}{more}{'USED':>6}{'SIZE':>10}", "bold"))
    for table in sorted(view.workings.tables, key=lambda table: -table.stored_bytes):
        if table.stored_bytes:
            screen.line(_table_line(screen, table, is_wide=is_wide))
    outside = format_size(view.recorder.private_bytes, screen.units)
    screen.line(f"  {'outside the recording':<22}{'':>{len(more) + 18}}{outside:>10}")


def _table_line(screen: Screen, table: TableFill, *, is_wide: bool) -> str:
    records = "" if table.records is None else format_count(table.records)
    room = "" if table.room is None else format_count(table.room)
    more = f"{room:>12}{table.extents or '':>9}" if is_wide else ""
    used = format_share(table.records, table.room) if table.records and table.room else ""
    size = format_size(table.stored_bytes, screen.units)
    return f"  {table.name:<22}{records:>12}{more}{used:>6}{size:>10}"
