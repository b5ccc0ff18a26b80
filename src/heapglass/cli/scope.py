"""The part of a heap that a command looks at: SOURCE@MOMENT, --since, --until, --thread."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from heapglass.analysis.filters import compile_pattern
from heapglass.analysis.moments import Moment, MomentKind, at_moment, moment_time_ns, parse_moment
from heapglass.analysis.threads import ThreadHeap
from heapglass.analysis.windows import WindowHeap
from heapglass.cli.arguments import add_thread_option, add_time_options, add_window_options
from heapglass.cli.source import Opened, add_source_argument, open_source
from heapglass.errors import UsageError
from heapglass.model import HeapSource
from heapglass.views.naming import Resolver

_END = Moment(MomentKind.END)
_BY_THREAD = (MomentKind.END, MomentKind.PEAK)
_THREADS_ENDED = "snapshots do not tell threads apart: --thread knows the end and the peak"


def add_scope_arguments(parser: argparse.ArgumentParser, nargs: Literal["?"] | None = None) -> None:
    """SOURCE, as many as `nargs` says, and the options that narrow it down."""
    add_moment_argument(parser, nargs)
    add_thread_option(parser)
    add_window_options(parser)


def add_moment_argument(parser: argparse.ArgumentParser, nargs: Literal["?"] | None = None) -> None:
    """SOURCE or SOURCE@MOMENT."""
    parser.add_argument(
        "source",
        metavar="SOURCE",
        nargs=nargs,
        help="a recording made by 'heapglass run', or a core; FILE@MOMENT shows the process"
        " at MOMENT: 90s, 00:01:30, peak, end or the name of a mark",
    )


def open_scope(args: argparse.Namespace) -> Opened:
    path, end = _end_of_scope(args)
    until = end or _END
    if args.thread is not None and (args.since or until.kind not in _BY_THREAD):
        raise UsageError(_THREADS_ENDED)
    opened = open_source(path)
    heap = opened.heap
    if args.thread is not None:
        heap = ThreadHeap(heap, compile_pattern(args.thread))
    if args.since is not None:
        return Opened(WindowHeap(heap, args.since, until), opened.names)
    return Opened(at_moment(heap, until), opened.names)


def open_moments(*arguments: str, thread: str | None = None) -> list[Opened]:
    """Each SOURCE or SOURCE@MOMENT, of some threads if asked for; two moments of one file share
    what is known of it."""
    known: dict[str, Opened] = {}
    found = []
    for argument in arguments:
        path, moment = split_moment(argument)
        until = moment or _END
        if thread is not None and until.kind not in _BY_THREAD:
            raise UsageError(_THREADS_ENDED)
        if path not in known:
            known[path] = open_source(path)
        heap = known[path].heap
        if thread is not None:
            heap = ThreadHeap(heap, compile_pattern(thread))
        found.append(Opened(at_moment(heap, until), known[path].names))
    return found


@dataclass(frozen=True, slots=True)
class TimeScope:
    """The time that is looked at, and the sites; of live blocks, when they were allocated."""

    heap: HeapSource
    names: Resolver
    since_ns: int
    until_ns: int | None
    sites: frozenset[int] | None  # None: all


def add_history_scope(parser: argparse.ArgumentParser) -> None:
    add_moment_argument(parser)
    _add_thread_sites(parser)
    add_window_options(parser)


def _add_thread_sites(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--thread",
        metavar="REGEX",
        help="only sites that threads of this name or thread id allocated at",
    )


def add_block_scope(parser: argparse.ArgumentParser) -> None:
    add_source_argument(parser)
    add_block_options(parser)


def add_block_options(parser: argparse.ArgumentParser) -> None:
    """Which of the live blocks are looked at."""
    _add_thread_sites(parser)
    add_time_options(parser, "only blocks allocated after", "only blocks allocated before")


def open_blocks(args: argparse.Namespace) -> TimeScope:
    path, moment = split_moment(args.source)
    if moment is not None and moment.kind is not MomentKind.END:
        raise UsageError(
            "single blocks are only known as they are now or at the end: use --since and --until"
            " to choose them by when they were allocated"
        )
    return _open_times(path, args, args.until)


def open_leaks(args: argparse.Namespace) -> TimeScope:
    """As `open_blocks`, and an earlier moment as its sites were then."""
    path, moment = split_moment(args.source)
    if moment is None or moment.kind is MomentKind.END:
        return _open_times(path, args, args.until)
    if args.since or args.until or args.min_age:
        raise UsageError(
            "how old single blocks are is only known now or at the end: --since, --until and"
            " --min-age cannot be used with SOURCE@MOMENT"
        )
    scope = _open_times(path, args, None)
    return replace(scope, heap=at_moment(scope.heap, moment))


def open_history(args: argparse.Namespace) -> TimeScope:
    """For views of memory over time, which end at SOURCE@MOMENT."""
    path, until = _end_of_scope(args)
    return _open_times(path, args, until)


def _open_times(path: str, args: argparse.Namespace, until: Moment | None) -> TimeScope:
    opened = open_source(path)
    heap, sites = opened.heap, None
    if args.thread is not None:
        table = ThreadHeap(heap, compile_pattern(args.thread)).sites()
        sites = frozenset(table.id[table.allocations > 0].tolist())
    return TimeScope(
        heap,
        opened.names,
        moment_time_ns(heap, args.since) if args.since else 0,
        moment_time_ns(heap, until) if until else None,
        sites,
    )


def _end_of_scope(args: argparse.Namespace) -> tuple[str, Moment | None]:
    """The file, and where SOURCE@MOMENT or --until says to stop."""
    path, moment = split_moment(args.source)
    if moment is not None and args.until is not None:
        raise UsageError("--until and SOURCE@MOMENT both say where to stop: give one of them")
    return path, moment or args.until


def split_moment(argument: str) -> tuple[str, Moment | None]:
    """Files and marks may have an @ in their names: the longest name of a file that is there is
    the file. What is there as it stands is no moment."""
    if "\0" in argument or Path(argument).exists():
        return argument, None
    places = [at for at, character in enumerate(argument) if character == "@" and at]
    for at in reversed(places):
        if Path(argument[:at]).exists():
            return argument[:at], _parse_given(argument[at + 1 :])
    return _split_unknown(argument, places[-1]) if places else (argument, None)


def _parse_given(text: str) -> Moment:
    try:
        return parse_moment(text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _split_unknown(argument: str, at: int) -> tuple[str, Moment | None]:
    """Of what is no file: whether it names anything else will be seen."""
    try:
        moment = parse_moment(argument[at + 1 :])
    except ValueError:
        return argument, None
    return (argument, None) if moment.kind is MomentKind.MARK else (argument[:at], moment)
