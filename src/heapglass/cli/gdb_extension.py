"""The commands `heapglass ...` inside gdb, for live processes and for cores.

gdb runs this file (`heapglass gdb` prints its path) in a Python of its own, without numpy: what
needs the recording is asked of the `heapglass` this file belongs to; what needs memory only is
done here, through gdb, with the parts of the package that take the standard library alone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gdb

_HERE = Path(__file__).resolve()
if sys.version_info < (3, 11):  # noqa: UP036 (gdb has a Python of its own)
    raise gdb.GdbError("heapglass needs a gdb with Python 3.11 or later")
sys.path.append(str(_HERE.parents[2]))

from heapglass.coredump.arenas import NoArenas  # noqa: E402 (found through the line above)
from heapglass.coredump.chunks import Heap, walk_heap  # noqa: E402
from heapglass.coredump.core_file import CoreFile  # noqa: E402
from heapglass.coredump.memory import CoreMemory, MissingMemory, Region  # noqa: E402
from heapglass.errors import HeapglassError  # noqa: E402
from heapglass.recording.file.of_process import (  # noqa: E402
    NO_RECORDING_WANTED,
    has_tables_in_memory,
)
from heapglass.views.core.free import build_free, closing_lines, free_lines  # noqa: E402
from heapglass.views.core.hexdump import BYTES_PER_LINE, hexdump  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAGIC = b"heapgls\n"
_CORE_FILE = "Local core dump file:"
_PAGE = 4096
_LINES = 16
_TOP = 10
_DELETED = " (deleted)"


# ---- what is being debugged -------------------------------------------------------------------


class LiveMemory:
    """The memory of the process that gdb has stopped."""

    def __init__(self, pid: int) -> None:
        self.regions: Sequence[Region] = _maps(pid)
        self._inferior = gdb.selected_inferior()

    def read(self, address: int, length: int) -> bytes:
        try:
            return bytes(self._inferior.read_memory(address, length))
        except gdb.MemoryError:
            raise MissingMemory(f"{address:#x} cannot be read") from None


def _maps(pid: int) -> list[Region]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        raise gdb.GdbError("the mappings of this process cannot be read") from None
    regions = []
    for line in lines:
        span, flags, *rest = line.split(None, 5)
        start, end = (int(edge, 16) for edge in span.split("-"))
        path = rest[3] if len(rest) > 3 and not rest[3].startswith("[") else ""
        regions.append(Region(start, end, path, "w" in flags))
    return regions


def _core_path() -> str:
    """Of the core that is being looked at, "" when a process is."""
    lines = iter(gdb.execute("info target", to_string=True).splitlines())
    for line in lines:
        if line.startswith(_CORE_FILE):
            return next(lines, "").strip().removeprefix("`").partition("', file type")[0]
    return ""


def _completing(word: str | None, names: list[str]) -> list[str]:
    """Those that go on from the word; there is none yet when gdb only asks how words are parted."""
    return [name for name in names if name.startswith(word or "")]


def _live_pid() -> int:
    pid: int = gdb.selected_inferior().pid
    if not pid:
        raise gdb.GdbError("there is neither a process nor a core to look at")
    return pid


def _memory() -> LiveMemory | CoreMemory:
    core = _core_path()
    return CoreMemory(CoreFile(core)) if core else LiveMemory(_live_pid())


def _source() -> str:
    """The core, or the recording of the live process."""
    return _core_path() or _recording(_live_pid())


def _recording(pid: int) -> str:
    memory = LiveMemory(pid)
    for region in memory.regions:
        if region.path and region.is_writable and _starts_with_magic(memory, region.start):
            path = region.path.removesuffix(_DELETED)
            places = (path, f"/proc/{pid}/root{path}")
            found = next((place for place in places if os.path.exists(place)), "")
            if not found:
                raise gdb.GdbError(f"the recording of this process, {path}, is not there any more")
            return found
    if has_tables_in_memory(pid):
        raise gdb.GdbError(f"this process {NO_RECORDING_WANTED}")
    raise gdb.GdbError("this process does not run under heapglass, or has not allocated yet")


def _starts_with_magic(memory: LiveMemory, address: int) -> bool:
    try:
        return memory.read(address, len(_MAGIC)) == _MAGIC
    except MissingMemory:
        return False


# ---- asking heapglass -------------------------------------------------------------------------


def _program() -> str:
    """The command of the installation that this file is part of; else the one in PATH."""
    for parent in _HERE.parents:
        for place in (parent / "bin" / "heapglass", parent / ".venv" / "bin" / "heapglass"):
            if place.is_file():
                return str(place)
    found = shutil.which("heapglass")
    if not found:
        raise gdb.GdbError("the command 'heapglass' was not found")
    return found


def _ask(*arguments: str) -> None:
    """Print what heapglass says."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "COLUMNS")}
    width = gdb.parameter("width")
    if width:
        environment["COLUMNS"] = str(width)
    done = subprocess.run(
        [_program(), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    said = done.stderr.decode(errors="replace").strip().splitlines()
    sentences = [line.removeprefix("heapglass: ") for line in said]
    if done.returncode:
        raise gdb.GdbError("\n".join(sentences) or "heapglass failed")
    _print(f"! {sentence}" for sentence in sentences)
    gdb.write(done.stdout.decode(errors="replace"))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        gdb.write(f"{line}\n")


# ---- commands ---------------------------------------------------------------------------------


class _Command(gdb.Command):
    """One subcommand; subclasses have NAME, USAGE and their docstring, which is gdb's help."""

    NAME = ""
    USAGE = ""
    COMPLETION = gdb.COMPLETE_NONE

    def __init__(self) -> None:
        super().__init__(f"heapglass {self.NAME}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, _from_tty: bool) -> None:  # noqa: FBT001 (gdb's way)
        self.dont_repeat()
        try:
            self.run(gdb.string_to_argv(argument))
        except (HeapglassError, MissingMemory, NoArenas) as problem:
            raise gdb.GdbError(str(problem)) from None

    def run(self, words: list[str]) -> None:
        raise NotImplementedError

    def usage(self) -> gdb.GdbError:
        return gdb.GdbError(f"it is 'heapglass {self.NAME}{self.USAGE}'")


class _OfModule(_Command):
    """Completes a module first and then a function."""

    def complete(self, text: str, word: str | None) -> object:
        if " " in text.lstrip():
            return gdb.COMPLETE_SYMBOL
        names = {os.path.basename(objfile.filename or "") for objfile in gdb.objfiles()}
        return _completing(word, sorted(names))


class Total(_OfModule):
    """Blocks and bytes in use by module, function and return address.

    heapglass total [MODULE [FUNCTION]]
    """

    NAME = "total"
    USAGE = " [MODULE [FUNCTION]]"

    def run(self, words: list[str]) -> None:
        if len(words) > 2:
            raise self.usage()
        options = [f"--{name}={word}" for name, word in zip(("module", "function"), words)]  # noqa: B905 (as many as were given)
        _ask("core", *options, _source(), "totals")


class Blocks(_OfModule):
    """The blocks in use that a function of a module allocated.

    heapglass blocks MODULE FUNCTION
    """

    NAME = "blocks"
    USAGE = " MODULE FUNCTION"

    def run(self, words: list[str]) -> None:
        if len(words) != 2:
            raise self.usage()
        _ask("core", f"--module={words[0]}", _source(), "blocks", words[1])


class Top(_Command):
    """The stacks that hold the most memory, ten of them or N.

    heapglass top [N]
    """

    NAME = "top"
    USAGE = " [N]"

    def run(self, words: list[str]) -> None:
        if len(words) > 1 or (words and not words[0].isdecimal()):
            raise self.usage()
        number = words[0] if words else str(_TOP)
        _ask("table", "--sort=live", f"--limit={number}", _source())


class Free(_Command):
    """What malloc holds and nobody uses, by size (glibc).

    heapglass free            by size and by the list that a block is in
    heapglass free count      the sums only
    heapglass free detailed   every free block
    """

    NAME = "free"
    USAGE = " [count|detailed]"

    def complete(self, _text: str, word: str | None) -> list[str]:
        return _completing(word, ["count", "detailed"])

    def run(self, words: list[str]) -> None:
        if words not in ([], ["count"], ["detailed"]):
            raise self.usage()
        heap = walk_heap(_memory())
        view = build_free(heap)
        if not words:
            _print(free_lines(view))
            return
        if words == ["detailed"]:
            _print(_free_blocks(heap))
        _print(closing_lines(view))


def _free_blocks(heap: Heap) -> list[str]:
    return [
        f"Free block at {chunk.address:x} of size {chunk.size:x} ({chunk.state.value})"
        for chunk in heap.chunks
        if chunk.state.is_free
    ]


class Block(_Command):
    """The block that an address is in: its owner, its size, its memory.

    heapglass block ADDRESS

    ADDRESS may be any expression, such as ptr or $rdi.
    """

    NAME = "block"
    USAGE = " ADDRESS"

    def complete(self, _text: str, _word: str) -> int:
        completion: int = gdb.COMPLETE_EXPRESSION
        return completion

    def run(self, words: list[str]) -> None:
        if not words:
            raise self.usage()
        address = _evaluate(" ".join(words))
        core = _core_path()
        _ask("core", _source(), "block", f"{address:#x}")
        if not core:
            _print(["", *_dump(LiveMemory(_live_pid()), address, _LINES)])


class Hexdump(_Command):
    """Memory in hexadecimal and as text, sixteen lines of it or LINES.

    heapglass hexdump ADDRESS [LINES]
    """

    NAME = "hexdump"
    USAGE = " ADDRESS [LINES]"

    def complete(self, _text: str, _word: str) -> int:
        completion: int = gdb.COMPLETE_EXPRESSION
        return completion

    def run(self, words: list[str]) -> None:
        if len(words) not in (1, 2) or (len(words) == 2 and not words[1].isdecimal()):
            raise self.usage()
        lines = int(words[1]) if len(words) == 2 else _LINES
        _print(_dump(_memory(), _evaluate(words[0]), lines))


def _evaluate(expression: str) -> int:
    """Arrays and functions stand for where they begin, as for gdb's own command x."""
    try:
        value = gdb.parse_and_eval(expression)
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_FUNC):
            value = value.address
        return int(value) % (1 << 64)
    except (gdb.error, TypeError) as problem:  # TypeError: an array that is nowhere in memory
        raise gdb.GdbError(f"'{expression}' is no address: {problem}") from None


def _dump(memory: LiveMemory | CoreMemory, address: int, lines: int) -> list[str]:
    """As much of it as can be read, which ends with a page."""
    data = b""
    end = address + lines * BYTES_PER_LINE
    while (at := address + len(data)) < end:
        try:
            data += memory.read(at, min(end, (at | (_PAGE - 1)) + 1) - at)
        except MissingMemory:
            if not data:
                raise
            break
    return list(hexdump(data, address))


class Heapglass(gdb.Command):
    """Who owns the memory of a program that runs, or ran, under heapglass."""

    def __init__(self) -> None:
        super().__init__("heapglass", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, prefix=True)

    def invoke(self, argument: str, _from_tty: bool) -> None:  # noqa: FBT001 (gdb's way)
        if argument:
            raise gdb.GdbError(f"there is no 'heapglass {argument.split(maxsplit=1)[0]}'")
        gdb.execute("help heapglass")


Heapglass()
for _command in (Total, Blocks, Free, Block, Hexdump, Top):
    _command()
