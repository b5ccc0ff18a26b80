"""`heapglass core`: who allocated what, from a core."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from heapglass.cli.arguments import (
    add_output_options,
    add_wrapper_option,
    chosen_plumbing,
    count_argument,
)
from heapglass.cli.output import Screen, open_screen, print_json
from heapglass.cli.source import Opened, open_source
from heapglass.coredump.arenas import NoArenas
from heapglass.coredump.bare import BareCore
from heapglass.coredump.chunks import walk_heap
from heapglass.coredump.core_file import CoreFile, is_core
from heapglass.coredump.memory import CoreMemory
from heapglass.coredump.tables import NoTables
from heapglass.errors import CoreError, NoRecordingError, UsageError
from heapglass.launch.voice import say
from heapglass.model import HeapSource
from heapglass.symbols.symbolizer import Symbolizer
from heapglass.text import printable
from heapglass.units import format_count, format_size
from heapglass.views.core.block import build_block
from heapglass.views.core.free import build_free, free_lines
from heapglass.views.core.hexdump import BYTES_PER_LINE
from heapglass.views.core.lines import block_lines, used_lines
from heapglass.views.core.owners import UsedView, build_bare, build_used
from heapglass.views.core.totals import Total, build_totals
from heapglass.views.json.core import (
    block_document,
    blocks_document,
    free_document,
    totals_document,
)
from heapglass.views.text.labels import full_place_text

NAME = "core"
HELP = "show who allocated what, from a core"

_DESCRIPTION = """\
Shows the heap in a core of a program that ran under heapglass, made by gcore,
by the kernel or by a crash:

  list used         every block in use: address, size, owner, age, thread
  totals            blocks and bytes by module, function and return address
  blocks FUNCTION   the blocks that FUNCTION allocated
  block ADDRESS     the block that ADDRESS is in, its owner and its memory
  free              what malloc holds and nobody uses, by size (glibc)

The tables come from the core if it has them (HEAPGLASS_CORE sees to that), else
from the recording that the core names. Where there are none, addresses and
sizes are those of glibc's heap. CORE may be a recording, too."""
_EXAMPLES = """\
examples:
  heapglass core core.1234 list used
  heapglass core core.1234 ./server totals
  heapglass core core.1234 block 0x55f387eb2008
  heapglass core --json core.1234 blocks parse | jq '.blocks[].address'"""

_ARGUMENTS = {"list": ("used",), "totals": (), "blocks": None, "block": None, "free": ()}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("source", metavar="CORE", help="the core")
    parser.add_argument(
        "words",
        metavar="[EXE] COMMAND",
        nargs="+",
        help="the program's executable, if it was moved, and what to show",
    )
    parser.add_argument("--recording", metavar="FILE", help="take the tables from this recording")
    parser.add_argument("--module", default="", help="totals, blocks: only those of this module")
    parser.add_argument("--function", default="", help="totals: only those of this function")
    parser.add_argument(
        "--brief", action="store_true", help="list, blocks: one line for each block"
    )
    parser.add_argument(
        "--lines",
        type=count_argument,
        default=16,
        metavar="N",
        help="block: lines of memory (default: 16)",
    )
    add_wrapper_option(parser)
    add_output_options(parser)


def main(args: argparse.Namespace) -> int:
    executable, command, argument = _split(args.words)
    if command == "free":
        _show_free(args)
        return 0
    source, view = _open(args, executable, command)
    if command == "totals":
        _show_totals(args, view)
    elif command == "block":
        _show_block(args, source, view, _address(argument))
    else:
        _show_blocks(args, view, argument if command == "blocks" else "")
    return 0


def _open(
    args: argparse.Namespace, executable: str, command: str
) -> tuple[HeapSource | BareCore, UsedView]:
    try:
        opened = open_source(args.source, args.recording)
    except NoRecordingError:
        if is_core(args.source):
            raise  # that is what was given as its recording
        raise CoreError(f"{args.source} is neither a core nor a recording") from None
    except NoTables as why:
        if command in ("blocks", "totals"):
            raise  # they are by owner
        core = BareCore(args.source, why)
        return core, build_bare(core)
    if executable:
        opened = _with_executable(opened, executable)
    return opened.heap, build_used(opened.heap, opened.names, chosen_plumbing(args))


def _split(words: list[str]) -> tuple[str, str, str]:
    """The executable or "", the command, and its argument or ""."""
    executable = "" if words[0] in _ARGUMENTS else words[0]
    rest = words[1:] if executable else words
    if not rest or rest[0] not in _ARGUMENTS:
        raise UsageError("say what to show: list used, totals, blocks, block or free")
    command, *arguments = rest
    allowed = _ARGUMENTS[command]
    if allowed is None and len(arguments) != 1:
        what = "FUNCTION" if command == "blocks" else "ADDRESS"
        raise UsageError(f"{command} needs one argument, {what}")
    if allowed is not None and tuple(arguments) != allowed:
        raise UsageError(f"it is '{' '.join((command, *allowed))}'")
    return executable, command, arguments[0] if arguments else ""


def _address(text: str) -> int:
    try:
        address = int(text, 16)
    except ValueError:
        address = -1
    if not 0 <= address < 1 << 64:
        raise UsageError(f"'{printable(text)}' is not an address such as 0x55f387eb2000")
    return address


def _with_executable(opened: Opened, path: str) -> Opened:
    """Names from the executable at `path`, wherever it was when the program ran."""
    modules = [
        replace(module, path=path) if module.is_main else module for module in opened.heap.modules
    ]
    return Opened(opened.heap, Symbolizer(modules))


def _show_blocks(args: argparse.Namespace, view: UsedView, function: str) -> None:
    rows = _rows(view, function, args.module)
    if function and not rows:
        raise CoreError(f"no block in use was allocated by {printable(function)}")
    if args.json:
        print_json(blocks_document(view, rows))
        return
    _print_notes(view.notes)
    _print_lines(used_lines(view, rows, is_brief=args.brief or not view.owners))


def _rows(view: UsedView, function: str, module: str) -> list[int]:
    if not function:
        return list(range(len(view.used)))
    sites = {
        site
        for site, owner in view.owners.items()
        if owner.is_of(function) and (not module or owner.is_in(module))
    }
    return [row for row, site in enumerate(view.used.site.tolist()) if site in sites]


def _show_totals(args: argparse.Namespace, view: UsedView) -> None:
    total = build_totals(view, args.module, args.function)
    if args.json:
        print_json(totals_document(view, total))
        return
    screen = open_screen(args)
    screen.caveats(view.notes)
    for module in total.parts:
        _print_total(screen, module, 0)
        for function in module.parts:
            _print_total(screen, function, 1)
            for place in function.parts:
                _print_total(screen, place, 2)
    count, size = format_count(total.blocks), total.size_bytes
    noun = "block" if total.blocks == 1 else "blocks"
    screen.line(f"{count} {noun}, {size:#x} ({format_count(size)}) bytes")
    screen.warnings(view.warnings)


def _print_total(screen: Screen, total: Total, depth: int) -> None:
    place = f"  {full_place_text(total.frame)}" if total.frame and total.frame.file else ""
    numbers = f"{format_size(total.size_bytes, screen.units):>8}  {format_count(total.blocks):>9}  "
    screen.line((numbers, "bold"), "  " * depth + printable(total.name), (place, "dim"))


def _show_block(
    args: argparse.Namespace, source: HeapSource | BareCore, view: UsedView, address: int
) -> None:
    block = build_block(source, view, address, args.lines * BYTES_PER_LINE)
    if args.json:
        print_json(block_document(view, block))
        return
    _print_notes(view.notes)
    _print_lines(block_lines(view, block))


def _show_free(args: argparse.Namespace) -> None:
    memory = CoreMemory(CoreFile(args.source))
    try:
        view = build_free(walk_heap(memory))
    except NoArenas as problem:
        raise CoreError(f"{args.source}: {problem}, so free blocks cannot be listed") from None
    if args.json:
        print_json(free_document(view))
    else:
        _print_lines(free_lines(view))


def _print_lines(lines: Iterable[str] | Iterator[str]) -> None:
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _print_notes(notes: Iterable[str]) -> None:
    """Beside the output: scripts read that line by line."""
    for note in notes:
        say(note)
