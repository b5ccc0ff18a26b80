"""Blocks in use as lines of text; there may be millions, so without a terminal's help."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from heapglass.model import Thread
from heapglass.text import printable
from heapglass.units import format_count, format_duration
from heapglass.views.core.block import BlockView
from heapglass.views.core.hexdump import hexdump
from heapglass.views.core.owners import Owner, UsedView
from heapglass.views.text.labels import cut_text, full_place_text, function_text

_INDENT = "    "
_NOBODY = "not recorded, or its owner is not known any more"
_MOST_THREADS = 3


def used_lines(view: UsedView, rows: Iterable[int], *, is_brief: bool) -> Iterator[str]:
    """What chap prints for `list used`, and, indented, what it cannot know."""
    stack_of = cache(stack_lines)
    count = total = 0
    for row in rows:
        size = int(view.used.size[row])
        count, total = count + 1, total + size
        yield f"Used allocation at {int(view.used.address[row]):x} of size {size:x}"
        if is_brief:
            continue
        yield _INDENT + fact_text(view, row)
        owner = view.owners.get(int(view.used.site[row]))
        if owner:
            yield from stack_of(owner)
    yield f"{format_count(count)} allocations use {total:#x} ({format_count(total)}) bytes."


def fact_text(view: UsedView, row: int) -> str:
    """`19 bytes asked for, 2.1 s old, thread 4300 (hello)`."""
    used = view.used
    owner = view.owners.get(int(used.site[row]))
    if owner is None:
        return _NOBODY
    requested = int(used.requested[row])
    noun = "byte" if requested == 1 else "bytes"
    age = format_duration(max(0, view.moment_ns - int(used.birth_ns[row])))
    return f"{format_count(requested)} {noun} asked for, {age} old, {_threads_text(owner.threads)}"


def stack_lines(owner: Owner) -> tuple[str, ...]:
    lines = [
        f"{_INDENT}#{number:<3}{function_text(frame)}  {full_place_text(frame)}".rstrip()
        for number, frame in enumerate(owner.stack.frames)
    ]
    if owner.stack.cut is not None:
        lines.append(f"{_INDENT}({cut_text(owner.stack.cut)})")
    return tuple(lines)


def block_lines(view: UsedView, block: BlockView) -> Iterator[str]:
    yield _block_text(block)
    owner = view.owners.get(int(view.used.site[block.row])) if block.row >= 0 else None
    if block.row >= 0:
        yield _INDENT + fact_text(view, block.row)
    if owner:
        yield from stack_lines(owner)
    if block.data is not None:
        yield ""
        yield from hexdump(block.data, block.start)
        rest = block.size - len(block.data)
        if rest > 0:
            yield f"{format_count(rest)} more bytes; --lines shows more"


def _block_text(block: BlockView) -> str:
    if not block.state:
        place = f" but in {printable(block.place)}" if block.place else ""
        return f"{block.asked:x} is in no block{place}"
    where = f"{block.asked:x} is {block.offset:#x} bytes into the" if block.offset else "The"
    kind = "used allocation" if block.state == "used" else f"free block ({block.state})"
    return f"{where} {kind} at {block.start:x} of size {block.size:x}"


def _threads_text(threads: tuple[Thread, ...]) -> str:
    if not threads:
        return "thread unknown"
    names = [f"{thread.tid} ({printable(thread.name)})" for thread in threads[:_MOST_THREADS]]
    if len(threads) == 1:
        return f"thread {names[0]}"
    rest = len(threads) - len(names)
    more = [f"{rest} more"] if rest else []
    return f"one of the threads {', '.join(names + more)}"
