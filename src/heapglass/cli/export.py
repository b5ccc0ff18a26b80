"""`heapglass export`: a recording for other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from heapglass.cli.arguments import (
    add_filter_options,
    add_force_option,
    add_min_option,
    add_wrapper_option,
    chosen_filters,
    chosen_plumbing,
)
from heapglass.cli.progress import ProgressLine
from heapglass.cli.scope import add_scope_arguments, open_scope, split_moment
from heapglass.cli.source import inputs_of
from heapglass.cli.target import check_free, spare_inputs
from heapglass.errors import UsageError
from heapglass.export.destination import check_directory, make_directory
from heapglass.export.extract import Extract
from heapglass.export.formats import FORMATS, Format, Trait
from heapglass.export.making import TABLES
from heapglass.export.metric import Metric
from heapglass.files import permissions_of, write_aside
from heapglass.launch.voice import say
from heapglass.text import printable
from heapglass.units import format_count
from heapglass.views.extract import ExtractQuery, build_extract

NAME = "export"
HELP = "write a recording for other tools: pprof, speedscope, massif, Parquet, ..."

_DESCRIPTION = """\
Writes what a recording or a core holds in a format that other tools read. The
output is a file in the current directory, named after SOURCE, or what -o says.
Losses and approximations are told on the standard error, and in the output
where the format has a place for them."""
_EXAMPLES = """\
examples:
  heapglass export --list
  heapglass export -F pprof s.heapglass && go tool pprof -http : s.pb.gz
  heapglass export -F massif -o - s.heapglass >m && ms_print m
  heapglass export -F collapsed --metric leaked -o - s.heapglass | flamegraph.pl
  heapglass export -F csv --table sites --module libssl s.heapglass
  heapglass export -F speedscope --since 10s --until 20s s.heapglass"""

_STDOUT = "-"
_WARNINGS_SHOWN = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_scope_arguments(parser, nargs="?")
    parser.add_argument("--list", action="store_true", help="list the formats and tables")
    parser.add_argument(
        "-F", "--format", choices=list(FORMATS), metavar="FORMAT", help=", ".join(FORMATS)
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the file to write, the directory for formats of several tables, or - for the"
        " standard output",
    )
    add_force_option(parser)
    parser.add_argument(
        "--metric",
        choices=[metric.value for metric in Metric],
        metavar="METRIC",
        help="what sites are ordered by, and the value where the format has one: live, peak,"
        " allocated, leaked, temporary or allocations (default: live while the process runs, peak"
        " when it has ended)",
    )
    parser.add_argument(
        "--table",
        choices=list(TABLES),
        metavar="TABLE",
        help="csv, parquet: only this table, as one file",
    )
    add_filter_options(parser)
    add_min_option(parser, "only sites of at least SIZE, such as 64k or 1.5MiB, of the metric")
    add_wrapper_option(parser)


@dataclass(frozen=True, slots=True)
class _Target:
    path: Path | None  # None: the standard output
    is_directory: bool
    mode: int = 0  # of the files


def main(args: argparse.Namespace) -> int:
    if args.list:
        _print_list()
        return 0
    chosen = _format(args)
    target = _target(args, chosen)
    with ProgressLine() as progress:
        progress.say("reading, and naming the functions")
        opened = open_scope(args)
        extract = build_extract(opened.heap, opened.names, _query(args, chosen))
        if target.is_directory:
            _write_tables(extract, chosen, target, progress)
        else:
            progress.say(f"writing {chosen.name}")
            _write_one(extract, chosen, target, args.table)
    _tell(extract, opened.names.warnings, target.path)
    return 0


def _print_list() -> None:
    width = max(map(len, FORMATS))
    for known in FORMATS.values():
        print(f"{known.name:{width}}  {known.help}")
    print(f"\ntables of csv, parquet and json: {', '.join(TABLES)}")


def _format(args: argparse.Namespace) -> Format:
    if args.source is None or args.format is None:
        raise UsageError("give a SOURCE and a --format; 'heapglass export --list' lists those")
    chosen = FORMATS[args.format]
    if args.table and Trait.TABLES not in chosen.traits:
        raise UsageError(f"{chosen.name} has no tables: --table is for csv and parquet")
    _check_part(args, chosen)
    chosen.load()  # which may need a library that is not there
    return chosen


def _check_part(args: argparse.Namespace, chosen: Format) -> None:
    if args.thread is not None and Trait.HISTORY in chosen.traits:
        raise UsageError(
            f"{chosen.name} shows memory over time, and snapshots do not tell threads apart: use"
            " --thread with another format"
        )
    if args.since is not None and Trait.FROM_START in chosen.traits:
        raise UsageError(
            f"{chosen.name} shows memory from the start on: use --until or SOURCE@MOMENT, or"
            " --since with another format"
        )


def _query(args: argparse.Namespace, chosen: Format) -> ExtractQuery:
    return ExtractQuery(
        metric=Metric(args.metric) if args.metric else None,
        filters=chosen_filters(args),
        min_bytes=args.min or 0,
        has_errors=Trait.ERRORS in chosen.traits,
        plumbing=chosen_plumbing(args),
    )


def _target(args: argparse.Namespace, chosen: Format) -> _Target:
    """Checked before any work is done for it."""
    is_directory = Trait.TABLES in chosen.traits and not args.table
    if args.output == _STDOUT:
        if is_directory:
            raise UsageError(f"{chosen.name} has several tables: choose one with --table")
        if Trait.BINARY in chosen.traits and sys.stdout.isatty():
            raise UsageError(f"{chosen.name} is not for terminals: use -o FILE, or a pipe")
        return _Target(None, is_directory=False)
    path = Path(args.output) if args.output else _default_path(args, chosen)
    files = [path / f"{name}.{chosen.suffix}" for name in TABLES] if is_directory else [path]
    if is_directory:
        check_directory(path)
    inputs = inputs_of(split_moment(args.source)[0])
    for file in files:
        spare_inputs(file, inputs)
        check_free(file, is_forced=args.force)
    return _Target(path, is_directory, permissions_of(inputs))


def _default_path(args: argparse.Namespace, chosen: Format) -> Path:
    path, moment = split_moment(args.source)
    stem = Path(path).name.removesuffix(".heapglass")
    if moment is not None:
        stem += printable(args.source[len(path) :]).replace("/", "_")
    table = f"{args.table}." if args.table else ""
    return Path(f"{stem}.{table}{chosen.suffix}")


def _write_one(extract: Extract, chosen: Format, target: _Target, table: str | None) -> None:
    out, mode = target.path, target.mode
    with write_aside(out, mode) if out else nullcontext(sys.stdout.buffer) as file:
        if table:
            chosen.load().write_table(TABLES[table](extract), file)
        else:
            chosen.load().write(extract, file)
        file.flush()


def _write_tables(
    extract: Extract, chosen: Format, target: _Target, progress: ProgressLine
) -> None:
    directory = target.path or Path()
    make_directory(directory)
    progress.restart()
    for number, (name, make) in enumerate(TABLES.items()):
        progress.step(number, len(TABLES), name)
        with write_aside(directory / f"{name}.{chosen.suffix}", target.mode) as file:
            chosen.load().write_table(make(extract), file)


def _tell(extract: Extract, warnings: Sequence[str], written: Path | None) -> None:
    """Beside the output: that may be the standard one."""
    symbols = [f"symbols: {warning}" for warning in warnings[:_WARNINGS_SHOWN]]
    more = len(warnings) - _WARNINGS_SHOWN
    if more > 0:
        symbols.append(f"symbols: and {more} more of these; 'heapglass table --json' has them all")
    for sentence in (*extract.caveats, *symbols):
        say(sentence)
    if written is None:
        return
    count = len(extract.sites)
    sites = f"{format_count(count)} site{'' if count == 1 else 's'}"
    say(f"wrote {sites} to {written}")
