"""`heapglass bench`: what heapglass costs, on this machine or for the user's own program."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from heapglass.cli.arguments import add_output_options, size_argument
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.progress import ProgressLine
from heapglass.errors import UsageError
from heapglass.launch.program import find_program
from heapglass.launch.voice import say
from heapglass.text import shell_word
from heapglass.trial.cells import CellCosts, Plan, measure_cells
from heapglass.trial.driver import Effort
from heapglass.trial.modes import EXACT, PAUSED, PLAIN, Mode
from heapglass.trial.probe import available_modes
from heapglass.trial.program import Series, Workplace, measure_program, usual_rounds, warm_up
from heapglass.trial.scratch import repeatable_input, scratch_directory
from heapglass.views.bench import (
    BenchTable,
    MeasureTable,
    cell_notes,
    cell_tables,
    over_spread_text,
    over_text,
    program_notes,
    program_tables,
)
from heapglass.views.json.bench import cell_document, program_document
from heapglass.views.text.labels import shorten

NAME = "bench"
HELP = "measure what heapglass costs, here or for your program"

_USAGE = "heapglass bench [OPTION]... [[--] COMMAND [ARGUMENT]...]"
_DESCRIPTION = """\
Without COMMAND: the nanoseconds that an allocator call takes with and without
heapglass, by the size of the block and by the depth of the stack. With it: CPU
time, elapsed time and peak memory of COMMAND and the processes it waits for,
plain and recorded, in turn. The least of several rounds counts; the spread says
how far to trust it. Recordings are thrown away.

COMMAND is run several times, in a session of its own, without a terminal. Each
run reads the whole standard input anew (from a terminal: none); its output goes
to a file that is removed."""
_EXAMPLES = """\
examples:
  heapglass bench --quick
  heapglass bench --sizes 16,64,4k --depths 5,50
  heapglass bench -- ./server --requests 10000
  heapglass bench --rounds 10 --json -- sqlite3 test.db <script.sql"""

_MOST_DEPTH, _MOST_SIZE, _MOST_ROUNDS = 4096, 1 << 30, 1000
_QUICK_ROUNDS, _QUICK_EFFORT = 3, Effort(10_000, 6)
_LABEL_WIDTH = 17
_MEASURE_WIDTH = _LABEL_WIDTH + 22  # of a line without its spread


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = _USAGE
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument(
        "--sizes", type=_sizes, metavar="LIST", help="sizes of blocks (default: 8,16,...,16k)"
    )
    parser.add_argument(
        "--depths", type=_depths, metavar="LIST", help="depths of stacks (default: 1,5,15,30,100)"
    )
    parser.add_argument(
        "--rounds",
        type=_rounds,
        metavar="N",
        help="runs in each mode (default: 7; of COMMAND: what fits 20 seconds, 3 to 25)",
    )
    parser.add_argument("--quick", action="store_true", help="three short rounds")
    parser.add_argument(
        "--show-output",
        action="store_true",
        help="print what COMMAND says in its first run, which does not count, to standard error",
    )
    add_output_options(parser)
    parser.add_argument(
        "command", metavar="COMMAND", nargs=argparse.REMAINDER, help="a program to measure"
    )


def _sizes(text: str) -> tuple[int, ...]:
    sizes = [size_argument(word) for word in text.split(",")]
    return _within(text, sizes, _MOST_SIZE, "a list of sizes from 1 byte to 1 GiB")


def _depths(text: str) -> tuple[int, ...]:
    depths = [_number(word) for word in text.split(",")]
    return _within(text, depths, _MOST_DEPTH, f"a list of depths from 1 to {_MOST_DEPTH}")


def _rounds(text: str) -> int:
    what = f"a number of rounds from 1 to {_MOST_ROUNDS}"
    return _within(text, [_number(text)], _MOST_ROUNDS, what)[0]


def _number(word: str) -> int:
    return int(word) if word.isascii() and word.isdecimal() else 0


def _within(text: str, values: Sequence[int], most: int, what: str) -> tuple[int, ...]:
    """The values in order, if all of them are from 1 to `most`."""
    if not all(1 <= value <= most for value in values):
        raise argparse.ArgumentTypeError(f"'{text}' is not {what}")
    return tuple(sorted(set(values)))


def main(args: argparse.Namespace) -> int:
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if args.command and not command:
        raise UsageError("there is no command behind --; see 'heapglass bench --help'")
    _check_options(args, has_command=bool(command))
    with _ends_cleanly():
        return _bench_program(args, tuple(command)) if command else _bench_machine(args)


def _check_options(args: argparse.Namespace, *, has_command: bool) -> None:
    if has_command and (args.sizes or args.depths):
        raise UsageError("--sizes and --depths are for measuring without a command")
    if not has_command and args.show_output:
        raise UsageError("--show-output is for measuring a command")


@contextmanager
def _ends_cleanly() -> Iterator[None]:
    """A request to end is an exception like ^C, so that nothing is left behind."""

    def leave(number: int, _frame: object) -> NoReturn:
        sys.exit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bench_machine(args: argparse.Namespace) -> int:
    plan = _plan(args)
    with scratch_directory() as scratch, ProgressLine() as progress:
        modes = available_modes(scratch)
        progress.restart()
        costs = measure_cells(plan, modes, scratch, progress.step)
    if args.json:
        print_json(cell_document(costs, plan, modes))
    else:
        _print_cells(open_screen(args), costs, plan, modes)
    return 0


def _plan(args: argparse.Namespace) -> Plan:
    plan = Plan()
    rounds = args.rounds or (_QUICK_ROUNDS if args.quick else plan.rounds)
    return Plan(
        sizes=args.sizes or plan.sizes,
        depths=args.depths or plan.depths,
        rounds=rounds,
        effort=_QUICK_EFFORT if args.quick else plan.effort,
    )


def _bench_program(args: argparse.Namespace, command: tuple[str, ...]) -> int:
    program = find_program(command, os.environ.get("PATH"))
    for note in program.notes:
        say(note)
    with scratch_directory() as scratch, ProgressLine() as progress:
        progress.say("reading the standard input, and a first run")
        modes = tuple(mode for mode in available_modes(scratch) if mode is not PAUSED)
        place = Workplace(scratch, *repeatable_input(scratch))
        if args.show_output:
            progress.clear()
        first = warm_up(program, place, is_shown=args.show_output)
        rounds = args.rounds or (
            _QUICK_ROUNDS if args.quick else usual_rounds(first.elapsed_seconds, len(modes))
        )
        progress.restart()
        costs = measure_program(Series(program, place, first, modes, rounds), progress.step)
    if args.json:
        print_json(program_document(command, costs, modes))
        return 0
    screen = open_screen(args)
    _print_head(screen, " ".join(map(shell_word, command)), costs.rounds, modes)
    for table in program_tables(costs, modes, screen.units):
        _print_measure(screen, table)
    _print_notes(screen, program_notes(costs, modes))
    return 0


def _print_head(screen: Screen, title: str, rounds: int, modes: Sequence[Mode]) -> None:
    if screen.is_cut:
        title = shorten(title, screen.width, screen.glyphs)
    names = [mode.name for mode in modes]
    turns = f"{', '.join(names[:-1])} and {names[-1]}"
    screen.line((title, "bold"))
    screen.sentences([f"{rounds} rounds of {turns} in turn; the least of each."], "", "")


def _print_measure(screen: Screen, table: MeasureTable) -> None:
    screen.line()
    screen.line((table.title, "bold"))
    has_spread = _fits(screen, _MEASURE_WIDTH, [row.spread for row in table.rows])
    for row in table.rows:
        screen.line(
            f"  {row.label:<{_LABEL_WIDTH}}  {row.least:>8}  ",
            (f"{row.ratio:>8}", "bold"),
            (f"  {row.spread}" if has_spread else "", "dim"),
        )


def _fits(screen: Screen, taken: int, texts: Sequence[str]) -> bool:
    """Whether a last column has room behind what is taken already."""
    return taken + 2 + max(map(len, texts)) <= screen.width


def _print_notes(screen: Screen, notes: Iterator[str]) -> None:
    for number, note in enumerate(notes):
        if number == 0:
            screen.line()
        screen.sentences([note], "", "dim")


def _print_cells(
    screen: Screen, costs: Sequence[CellCosts], plan: Plan, modes: Sequence[Mode]
) -> None:
    _print_head(screen, "Nanoseconds of CPU time for one call", plan.rounds, modes)
    others = [mode for mode in modes if mode not in (PLAIN, EXACT)]
    for table in cell_tables(costs, plan, screen.units):
        _print_table(screen, table, others)
    _print_notes(screen, cell_notes(costs, modes))


def _print_table(screen: Screen, table: BenchTable, others: Sequence[Mode]) -> None:
    spreads = [over_spread_text(cost.modes[EXACT.name]) for _, cost in table.rows]
    more = "".join(f"  {mode.name.upper():>7}" for mode in others)
    title = f"{table.column:>8}  {'PLAIN':>6}  {'EXACT':>6}  {'OVER':>6}  FACTOR{more}"
    has_spread = _fits(screen, len(title), spreads)
    screen.line()
    screen.line((table.title, "bold"))
    screen.line((title + ("  SPREAD" if has_spread else ""), "dim"))
    for (label, cost), spread in zip(table.rows, spreads, strict=True):
        plain, exact = cost.modes[PLAIN.name], cost.modes[EXACT.name]
        extra = "".join(f"  {over_text(cost.modes[mode.name]):>7}" for mode in others)
        screen.line(
            f"{label:>8}  {plain.least:>6.1f}  {exact.least:>6.1f}  ",
            (f"{over_text(exact):>6}", "bold"),
            f"  {exact.ratio:>5.1f}x{extra}",
            (f"  {spread}" if has_spread else "", "dim"),
        )
