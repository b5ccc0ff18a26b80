"""From the command line to a command.

Each command is a module with NAME, HELP, `configure(parser)` and `main(args) -> int`, imported
only when it is asked for. `run` alone reads its own arguments: it is on the way of every recorded
program, and even argparse is too much there.
"""

from __future__ import annotations

import gc
import os
import signal
import sys

from heapglass import __version__
from heapglass.errors import HeapglassError, UsageError
from heapglass.launch.voice import say, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, Protocol

    class Command(Protocol):
        """What a command's module holds."""

        NAME: str
        HELP: str

        def configure(self, parser: argparse.ArgumentParser) -> None: ...
        def main(self, args: argparse.Namespace) -> int: ...


COMMANDS = {
    "run": "run a program and record its allocations",
    "summary": "show a process on one page: totals, peak, top sites",
    "table": "list allocation sites with their counters",
    "tree": "show the calls that lead to memory as a tree",
    "flamegraph": "draw the calls that lead to memory to scale",
    "timeline": "draw memory over time",
    "sizes": "show how large the live blocks are",
    "ages": "show how old the live blocks are",
    "threads": "list threads with what they allocated and freed",
    "leaks": "list what was never freed, the most certain leaks first",
    "diff": "compare two recordings, or two moments of one",
    "doctor": "explain how well a recording went, or check this machine",
    "export": "write a recording for other tools: pprof, speedscope, massif, Parquet, ...",
    "report": "make one HTML page of a recording, to look at in a browser and to share",
    "core": "show who allocated what, from a core",
    "gdb": "print the path of the gdb extension",
    "pack": "make one small file of a recording and its symbols, to be read anywhere",
    "log": "analyse a text log of allocator calls",
    "bench": "measure what heapglass costs, here or for your program",
    "lib": "print the path of the native library",
    "include": "print the directory of heapglass.h",
    "completion": "print a script that lets a shell complete commands",
}
# How they are listed; those in no group come last.
GROUPS = {
    "record": ("run",),
    "look": ("summary", "table", "tree", "flamegraph", "timeline", "sizes", "ages", "threads"),
    "judge": ("leaks", "diff", "doctor"),
    "share": ("report", "export", "pack"),
    "others": ("core", "gdb", "log"),
    "set up": ("bench", "lib", "include", "completion"),
}
SIGPIPE_EXIT = 141  # what a shell shows for a program ended by SIGPIPE
INTERRUPT_EXIT = 130
_STDERR = 2
_GARBAGE = 1_000_000  # objects; frozen values make no cycles, and looking for some takes a third


def main(arguments: Sequence[str]) -> int:
    """Run the command named first; whatever happens, the user sees no traceback of an error that
    is theirs to solve."""
    try:
        code = _dispatch(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except HeapglassError as error:
        say(str(error))
        return error.exit_code
    except BrokenPipeError:
        _discard_output()
        return SIGPIPE_EXIT
    except OSError as error:
        _discard_output()
        say(f"{error.filename or 'the output cannot be written'}: {error.strerror}")
        return HeapglassError.exit_code
    except KeyboardInterrupt:
        return INTERRUPT_EXIT


def load(name: str) -> Command:
    from importlib import import_module  # noqa: PLC0415 (not needed by `run`)

    module: Any = import_module(f"heapglass.cli.{name}")
    command: Command = module
    return command


def usage() -> str:
    return "\n".join(
        [
            "usage: heapglass COMMAND [ARGUMENT]...",
            "       heapglass --version | --help",
            "",
            "Shows which call stacks own the memory of a native Linux program.",
            "",
            *_command_lines(),
            "",
            "'heapglass COMMAND --help' explains COMMAND. To begin with:",
            "  heapglass run -o a.heapglass ./program && heapglass summary a.heapglass",
        ]
    )


def _command_lines() -> list[str]:
    """Each command with what it does, the group before its first one."""
    from textwrap import wrap  # noqa: PLC0415 (not needed by `run`)

    grouped = {name for names in GROUPS.values() for name in names}
    rest = tuple(name for name in COMMANDS if name not in grouped)
    lines = []
    for group, names in (*GROUPS.items(), ("more", rest)):
        title = group
        for name in names:
            if name in COMMANDS:
                head = f"  {title:<7} {name:<11} "
                lines += wrap(COMMANDS[name], 80, initial_indent=head, subsequent_indent=" " * 22)
                title = ""
    return lines


def _dispatch(arguments: Sequence[str]) -> int:
    if not arguments:
        tell(usage())
        return 2
    name, *rest = arguments
    if name == "run":
        from heapglass.cli import run  # noqa: PLC0415 (only what is asked for)

        _hear_interrupts()
        return run.run(rest)
    if name in COMMANDS:
        return _run_command(name, rest)
    _check_output()
    if name in ("-h", "--help", "help"):
        return _help(rest)
    if name in ("-V", "--version"):
        print(f"heapglass {__version__}")
        return 0
    raise _no_command(name)


def _help(rest: Sequence[str]) -> int:
    if not rest:
        print(usage())
        return 0
    if rest[0] not in COMMANDS:
        raise _no_command(rest[0])
    return _dispatch([rest[0], "--help"])


def _no_command(name: str) -> UsageError:
    return UsageError(f"there is no command '{name}'; see 'heapglass --help'")


def _run_command(name: str, arguments: Sequence[str]) -> int:
    from heapglass.cli.parser import Parser  # noqa: PLC0415 (not needed by `run`)

    gc.set_threshold(_GARBAGE)
    _occupy_closed()
    command = load(name)
    parser = Parser(name)
    parser.description = f"{command.HELP.capitalize()}."
    command.configure(parser)
    try:
        args = parser.read(arguments)
    except SystemExit:  # after --help, which is still to be written out
        _check_output()
        return 0
    if not _has_file(args):
        _check_output()
    _hear_interrupts()
    return command.main(args)


def _hear_interrupts() -> None:
    """As KeyboardInterrupt, again: from here on there may be something to clean up."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _has_file(args: argparse.Namespace) -> bool:
    """Whether a file is what the command writes."""
    return getattr(args, "output", "-") != "-" and not getattr(args, "list", False)


def _check_output() -> None:
    if sys.stdout is None:
        raise HeapglassError("there is nowhere to write to: the standard output is closed")


def _occupy_closed() -> None:
    """Open closed standard descriptors to nothing: files that are opened later would get their
    numbers, and programs that are started would take those for their input and output."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        pass
    os.close(fd)


def _discard_output() -> None:
    """What is left of it: the interpreter would try once more at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
