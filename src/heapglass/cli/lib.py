"""`heapglass lib`: where the native library is, for LD_PRELOAD without `heapglass run`."""

from __future__ import annotations

import argparse
import sys
from io import TextIOWrapper

from heapglass.launch.library import library_path

NAME = "lib"
HELP = "print the path of the native library"

_EXAMPLES = """\
examples:
  LD_PRELOAD="$(heapglass lib)" ./program"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = _EXAMPLES


def main(_args: argparse.Namespace) -> int:
    print_path(library_path())
    return 0


def print_path(path: str) -> None:
    """As the file system has it, byte for byte: it goes into a command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")
    print(path)
