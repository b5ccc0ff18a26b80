"""`heapglass include`: where heapglass.h is, for programs that talk to their recorder."""

from __future__ import annotations

import argparse

from heapglass.cli.lib import print_path
from heapglass.launch.library import include_directory

NAME = "include"
HELP = "print the directory of heapglass.h"

_EXAMPLES = """\
examples:
  cc -I"$(heapglass include)" program.c"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES


def main(_args: argparse.Namespace) -> int:
    print_path(include_directory())
    return 0
