"""Arguments that commands share, and the values they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TypeVar

from heapglass.analysis.filters import (
    Filter,
    FilterField,
    compile_pattern,
    field_filter,
    parse_filter,
)
from heapglass.analysis.moments import Moment, parse_moment
from heapglass.analysis.order import SortKey
from heapglass.analysis.plumbing import Plumbing
from heapglass.units import Units, parse_size, parse_time

_MOST_DIGITS = 9

_Value = TypeVar("_Value")


def add_wrapper_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wrapper",
        action="append",
        default=[],
        metavar="REGEX",
        help="functions that only wrap malloc: their callers answer for the memory;"
        " may be given several times",
    )


def chosen_plumbing(args: argparse.Namespace) -> Plumbing:
    return Plumbing(tuple(compile_pattern(text) for text in args.wrapper))


def add_sort_option(parser: argparse.ArgumentParser, what: str) -> None:
    """`what` says what the key does, as the beginning of a sentence."""
    parser.add_argument(
        "--sort",
        choices=[key.value for key in SortKey],
        metavar="KEY",
        help=f"{what}: live, peak, allocations, bytes, temporary, or leaked, which shows only"
        " sites with live blocks (default: live while the process runs, peak when it has ended)",
    )


def chosen_sort(args: argparse.Namespace) -> SortKey | None:
    return SortKey(args.sort) if args.sort else None


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    """Which sites are looked at, by what is on their stacks."""
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="TEXT",
        help="only sites with TEXT on their stacks, in function, file or module; function:REGEX,"
        " file:REGEX and module:REGEX search one of them; all given filters must match",
    )
    for field in ("function", "file", "module"):
        parser.add_argument(
            f"--{field}",
            action="append",
            default=[],
            metavar="REGEX",
            help=f"the same as --filter {field}:REGEX",
        )


def chosen_filters(args: argparse.Namespace) -> tuple[Filter, ...]:
    fields = (FilterField.FUNCTION, FilterField.FILE, FilterField.MODULE)
    return (
        *(parse_filter(text) for text in args.filter),
        *(field_filter(field, text) for field in fields for text in getattr(args, field.value)),
    )


def add_group_option(
    parser: argparse.ArgumentParser, kinds: Iterable[str], what: str, default: str | None = None
) -> None:
    parser.add_argument("--group", choices=list(kinds), default=default, metavar="BY", help=what)


def add_count_option(
    parser: argparse.ArgumentParser, name: str, what: str, default: int | None = None
) -> None:
    """-n, and the word that says of what."""
    parser.add_argument("-n", name, type=count_argument, default=default, metavar="N", help=what)


def add_stacks_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stacks", action="store_true", help="print the whole stack of each site")


def add_force_option(parser: argparse.ArgumentParser, out: str = "OUT") -> None:
    parser.add_argument("-f", "--force", action="store_true", help=f"replace {out} if it is there")


def add_min_option(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--min", type=size_argument, metavar="SIZE", help=what)


def add_thread_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--thread",
        metavar="REGEX",
        help="only what threads of this name or thread id did",
    )


def add_window_options(parser: argparse.ArgumentParser) -> None:
    what = "only what happened"
    nearest = "; the snapshot nearest to it counts"
    add_time_options(parser, f"{what} after", f"{what} before", nearest)


def add_time_options(
    parser: argparse.ArgumentParser, since: str, until: str, rest: str = ""
) -> None:
    """--since and --until; their help goes on with "this moment"."""
    for name, what in (("--since", since), ("--until", until)):
        parser.add_argument(
            name,
            type=moment_argument,
            metavar="MOMENT",
            help=f"{what} this moment, such as 90s, 00:01:30, peak or the name of a mark{rest}",
        )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, see docs/json.md")
    add_units_option(parser)
    parser.add_argument(
        "--width",
        type=width_argument,
        metavar="N",
        help="lay out for N columns, at least 60 (default: the terminal's; 100 without one)",
    )
    color = parser.add_mutually_exclusive_group()
    color.add_argument("--color", action="store_true", help="colour even into a file or pipe")
    color.add_argument("--no-color", action="store_true", help="no colour, no escape sequence")


def add_units_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--si", action="store_true", help="sizes in kB, MB instead of KiB, MiB")


def chosen_units(args: argparse.Namespace) -> Units:
    return Units.SI if args.si else Units.IEC


def moment_argument(text: str) -> Moment:
    return _parsed(parse_moment, text)


def time_argument(text: str) -> int:
    return _parsed(parse_time, text)


def size_argument(text: str) -> int:
    return _parsed(parse_size, text)


def _parsed(parse: Callable[[str], _Value], text: str) -> _Value:
    """A value for argparse, which shows this error's text and no other's."""
    try:
        return parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def width_argument(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < _MOST_DIGITS and int(text)):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of columns")
    return int(text)


def count_argument(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows")
    return int(text)
