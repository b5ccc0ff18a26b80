"""`heapglass pack`: a recording with its names as one small file, to be read anywhere."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from heapglass.cli.arguments import add_force_option
from heapglass.cli.progress import SlowLine
from heapglass.cli.source import add_debuginfod_option, check_name
from heapglass.cli.target import check_free, spare_inputs
from heapglass.convert.packing import pack
from heapglass.convert.redaction import Redactor
from heapglass.coredump.core_file import is_core
from heapglass.errors import HeapglassError, RecordingError, UsageError
from heapglass.launch.voice import tell
from heapglass.text import printable
from heapglass.units import format_size

NAME = "pack"
HELP = "make one small file of a recording and its symbols, to be read anywhere"

_DESCRIPTION = """\
Makes one compressed file of a recording and of the functions, files, lines and
inlined frames of all its addresses. Every command reads it like the recording,
on any machine, without the programs and libraries that were recorded."""
_EXAMPLES = """\
examples:
  heapglass pack server.1234.heapglass
  heapglass pack server.1234.heapglass -o /mnt/share/monday.heapglass
  heapglass pack --redact server.1234.heapglass -o for-the-vendor.heapglass"""
_SUFFIX = ".heapglass"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("source", metavar="FILE", help="a recording, also of a running program")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="the packed file (default: FILE with .packed before its .heapglass)",
    )
    add_force_option(parser)
    parser.add_argument(
        "--redact",
        action="store_true",
        help="replace paths, names, host, command line and thread names by words that say nothing",
    )
    parser.add_argument(
        "--redact-key",
        default="",
        metavar="TEXT",
        help="with --redact: files packed with the same TEXT have the same words, so that they can"
        " be compared",
    )
    add_debuginfod_option(parser)


def main(args: argparse.Namespace) -> int:
    if args.redact_key and not args.redact:
        raise UsageError("--redact-key is for --redact")
    check_name(args.source)
    if is_core(args.source):
        raise RecordingError(f"{args.source} is a core: only recordings can be packed")
    target = _target(args)
    redactor = Redactor(args.redact_key) if args.redact else None
    with SlowLine() as progress:
        progress.restart()
        pack(args.source, target, redactor, progress.say)
    sizes = f"{format_size(target.stat().st_size)}, from {format_size(_disk_bytes(args.source))}"
    tell(f"{printable(str(target))}: {sizes}")
    return 0


def pack_in_place(paths: Sequence[str], tell_line: Callable[[str], None], line: SlowLine) -> None:
    """Each of these recordings becomes a packed one of its name. One that cannot be packed stays as
    it is, and so do those that Ctrl-C leaves."""
    before = after = 0
    for number, path in enumerate(paths):
        line.restart()
        try:
            was = _disk_bytes(path)
            pack(path, Path(path), None, partial(_say_which, line, number, len(paths)))
            before, after = before + was, after + os.stat(path).st_size
        except (HeapglassError, OSError, MemoryError) as error:
            line.clear()
            tell_line(f"{path} is left unpacked: {str(error) or 'not enough memory'}")
        except KeyboardInterrupt:
            line.clear()
            tell_line(f"packing was stopped: {path} is left unpacked, and what comes behind it")
            break
    line.clear()
    if after:
        tell_line(f"packed: {format_size(after)}, from {format_size(before)}")


def _say_which(line: SlowLine, number: int, count: int, what: str) -> None:
    line.say(f"packing {number + 1} of {count}: {what}" if count > 1 else what)


def _disk_bytes(path: str) -> int:
    return os.stat(path).st_blocks * 512


def _target(args: argparse.Namespace) -> Path:
    source = Path(args.source)
    name = source.name.removesuffix(_SUFFIX) + ".packed" + _SUFFIX
    target = Path(args.output) if args.output else source.with_name(name)
    spare_inputs(target, [args.source])
    check_free(target, is_forced=args.force)
    return target
