"""`heapglass gdb`: where the extension of gdb is."""

from __future__ import annotations

import argparse
from pathlib import Path

from heapglass.cli.lib import print_path

NAME = "gdb"
HELP = "print the path of the gdb extension"

_EXAMPLES = """\
examples:
  gdb -x "$(heapglass gdb)" ./program core
  echo "source $(heapglass gdb)" >> ~/.gdbinit"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints the path of a file that adds commands to gdb; see docs/commands/gdb.md."
    )
    parser.epilog = _EXAMPLES


def main(_args: argparse.Namespace) -> int:
    print_path(str(Path(__file__).with_name("gdb_extension.py")))
    return 0
