"""`heapglass ages`: the live blocks by age."""

from __future__ import annotations

import argparse

from heapglass.cli.block_classes import add_class_arguments, run_classes
from heapglass.views.block_classes import ClassKind

NAME = "ages"
HELP = "show how old the live blocks are"

_DESCRIPTION = """\
Shows the blocks that are live, or were at the end, by age: a bar of # for each
class, with the scale above it, the number of blocks and their bytes. A block
that realloc resized keeps its age."""
_EXAMPLES = """\
examples:
  heapglass ages server.1234.heapglass
  heapglass ages --fine --group function server.1234.heapglass
  heapglass ages --module libssl --json server.1234.heapglass"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    add_class_arguments(parser)


def main(args: argparse.Namespace) -> int:
    return run_classes(args, ClassKind.AGE)
