"""Nodes of a call tree as text: what they are called, and chains of them cut to a width."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import basename

from heapglass.analysis.names import elide_arguments, qualified_name
from heapglass.analysis.tree import CallTree, Direction, Label, Merge
from heapglass.model import Pseudo
from heapglass.text import printable
from heapglass.views.text.glyphs import Glyphs
from heapglass.views.text.labels import function_text, place_text, short_name, shorten

_CUTS = {
    Pseudo.DEPTH: "[deeper than the limit]",
    Pseudo.NO_RULE: "[no unwind information]",
    Pseudo.BOUNDS: "[outside the stack]",
    Pseudo.BAD_RULE: "[unwind information not understood]",
    Pseudo.OTHER: "[all other stacks]",
}
_LEAST_NAME = 8  # characters below which a name says nothing


def label_name(label: Label, merge: Merge) -> str:
    """The whole name."""
    frame = label.frame
    if frame is None:
        return _CUTS[label.cut] if label.cut is not None else "[no frames]"
    if merge is Merge.MODULE:
        return printable(basename(frame.module)) or "[unknown]"
    if merge is Merge.FILE and frame.file:
        return printable(basename(frame.file))
    return function_text(frame)


def label_place(label: Label, merge: Merge) -> str:
    """Where it is: file and line where these tell nodes apart, else the file or the module."""
    frame = label.frame
    if frame is None or merge in (Merge.MODULE, Merge.FILE):
        return ""
    if merge is Merge.LINE:
        return place_text(frame)
    if not frame.function:
        return ""
    return printable(basename(frame.file or frame.module))


def node_name(tree: CallTree, node: int, width: int | None, glyphs: Glyphs) -> str:
    """The name of one node in at most `width` characters, marked where it is recursive."""
    label, merge = tree.label_of(node), tree.shape.merge
    mark = f" {glyphs.recursion}" if tree.is_recursive[node] else ""
    if width is None:
        return label_name(label, merge) + mark
    if width - len(mark) < _LEAST_NAME:
        mark = ""
    room = width - len(mark)
    if label.frame is not None and merge in (Merge.FUNCTION, Merge.LINE):
        return short_name(label.frame, room, glyphs) + mark
    return shorten(label_name(label, merge), room, glyphs) + mark


def chain_names(
    tree: CallTree, nodes: Sequence[int], width: int | None, glyphs: Glyphs
) -> tuple[str, str]:
    """The nodes up to the last one, and the last one, which tells most and is cut last. In between
    as many are left out as must be."""
    link = f" {glyphs.call if tree.shape.direction is Direction.CALLEES else glyphs.arrow} "
    if width is None:
        names = [node_name(tree, node, None, glyphs) for node in nodes]
        return "".join(name + link for name in names[:-1]), names[-1]
    last = node_name(tree, nodes[-1], width, glyphs)
    before = [_brief(tree, node, glyphs) for node in nodes[:-1]]
    room = width - len(last)
    whole = "".join(name + link for name in before)
    if len(whole) <= room:
        return whole, last
    return _elided(before, link, room, glyphs), last


def _elided(names: Sequence[str], link: str, room: int, glyphs: Glyphs) -> str:
    """The first names, an ellipsis, and the ones nearest to the end, as they fit; the ends take
    turns."""
    head: list[str] = []
    tail: list[str] = []
    left = list(names)
    gap = glyphs.ellipsis + link
    while left:
        is_head = len(head) <= len(tail) // 2
        name = left[0] if is_head else left[-1]
        longer = sum(len(one + link) for one in (*head, *tail, name)) + len(gap)
        if longer > room:
            break
        if is_head:
            head.append(left.pop(0))
        else:
            tail.insert(0, left.pop())
    text = "".join(one + link for one in head) + gap + "".join(one + link for one in tail)
    return text if len(text) <= room else ""


def _brief(tree: CallTree, node: int, glyphs: Glyphs) -> str:
    name = elide_arguments(
        qualified_name(label_name(tree.label_of(node), tree.shape.merge)), glyphs.ellipsis
    )
    return f"{name} {glyphs.recursion}" if tree.is_recursive[node] else name
