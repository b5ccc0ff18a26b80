"""`heapglass lib`: where the native library is, for LD_PRELOAD without `heapglass run`."""

from __future__ import annotations

import argparse

from heapglass.launch.library import library_path

NAME = "lib"
HELP = "print the path of the native library"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = 'Example: LD_PRELOAD="$(heapglass lib)" ./program'


def main(_args: argparse.Namespace) -> int:
    print(library_path())
    return 0
