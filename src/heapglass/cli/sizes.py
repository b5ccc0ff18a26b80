"""`heapglass sizes`: the live blocks by size."""

from __future__ import annotations

import argparse

from heapglass.cli.block_classes import add_class_arguments, run_classes
from heapglass.views.block_classes import ClassKind

NAME = "sizes"
HELP = "show how large the live blocks are"

_DESCRIPTION = """\
Shows the blocks that are live, or were at the end, by size: a bar of # for each
class, with the scale above it, the number of blocks and their bytes. --since
and --until choose blocks by when they were allocated."""
_EXAMPLES = """\
examples:
  heapglass sizes server.1234.heapglass
  heapglass sizes --fine --group site server.1234.heapglass
  heapglass sizes --function cache_insert --since 10s server.1234.heapglass"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_class_arguments(parser)


def main(args: argparse.Namespace) -> int:
    return run_classes(args, ClassKind.SIZE)
