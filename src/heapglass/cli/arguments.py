"""Arguments that commands share, and the values they stand for."""

from __future__ import annotations

import argparse

from heapglass.analysis.filters import compile_pattern
from heapglass.analysis.plumbing import Plumbing
from heapglass.units import Units, parse_size


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


def add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, see docs/json.md")
    parser.add_argument("--si", action="store_true", help="sizes in kB, MB instead of KiB, MiB")
    color = parser.add_mutually_exclusive_group()
    color.add_argument("--color", action="store_true", help="colour even into a file or pipe")
    color.add_argument("--no-color", action="store_true", help="no colour")


def chosen_units(args: argparse.Namespace) -> Units:
    return Units.SI if args.si else Units.IEC


def size_argument(text: str) -> int:
    """A size for argparse, which shows this error's text and no other's."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count_argument(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of rows")
    return int(text)
