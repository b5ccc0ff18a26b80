"""The parts of a demangled function name: what it is called, without types and parameters.

Works on the text alone, for C, C++ and Rust; a name it cannot take apart is returned as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPENING = "<([{"
_CLOSING = ">)]}"
_OPERATOR = re.compile(r"(?<![\w$])operator(?![\w$])")
# What may follow "operator" and must not be taken for a bracket.
_OPERATOR_SYMBOL = re.compile(r"\s*(<=>|->\*?|<<=?|>>=?|<=|>=|\(\)|\[\]|<|>)")
_TRAILER = re.compile(r"(\s+(const|volatile|noexcept|&&?)|\s*&&?|\s*\[clone [^\]]*\])$")
_CLONE = re.compile(r"(\.(cold|isra|part|constprop|lto_priv|llvm)(\.\d+)*)+$")
_CLONE_NOTE = re.compile(r"(\s*\[clone [^\]]*\])+$")


def fold_clones(function: str) -> str:
    """The name without what the optimizer appended: `f.isra.0` and `f [clone .cold]` are `f`."""
    return _CLONE.sub("", _CLONE_NOTE.sub("", function))


def qualified_name(function: str) -> str:
    """The name with its namespaces and template arguments, without return type and parameters."""
    name = _without_parameters(_without_trailers(fold_clones(function)))
    start = 0
    for index, char, depth in _outline(name):
        if depth == 0 and char == "o" and _OPERATOR.match(name, index):
            break
        if depth == 0 and char == " ":
            start = index + 1
    return name[start:]


def elide_arguments(name: str, ellipsis: str) -> str:
    """The name with the content of every outermost template argument list replaced."""
    kept: list[str] = []
    open_at = -1
    last = 0
    for index, char, depth in _outline(name):
        if char == "<" and depth == 0 and index > 0:
            open_at = index
        elif char == ">" and depth == 0 and open_at >= 0:
            kept += [name[last : open_at + 1], ellipsis]
            last, open_at = index, -1
    return "".join([*kept, name[last:]])


def split_scopes(name: str) -> list[str]:
    """The parts between `::` outside of brackets: namespaces, classes, and last the function."""
    ends: list[int] = []
    for index, char, depth in _outline(name):
        is_separator = char == ":" and depth == 0 and name.startswith("::", index)
        if is_separator and not (ends and index < ends[-1] + 2):  # ":::" holds one
            ends.append(index)
    starts = [0, *(end + 2 for end in ends)]
    return [name[start:end] for start, end in zip(starts, [*ends, len(name)], strict=True)]


def _without_trailers(function: str) -> str:
    while (shorter := _TRAILER.sub("", function)) != function:
        function = shorter
    return function


def _without_parameters(function: str) -> str:
    """Cut the last balanced pair of parentheses at the end; `operator()` keeps its own."""
    if not function.endswith(")"):
        return function
    depth = 0
    for index in range(len(function) - 1, -1, -1):
        depth += (function[index] == ")") - (function[index] == "(")
        if depth == 0:
            name = function[:index]
            is_operator = name.endswith("operator") and index == len(function) - 2
            return function if is_operator or not name else name.rstrip()
    return function


def _outline(name: str) -> Iterator[tuple[int, str, int]]:
    """Every character with the number of brackets around it; a bracket itself has the number
    outside of it. The symbols of `operator<<` and the arrow `->` are no brackets."""
    depth = 0
    index = 0
    while index < len(name):
        char = name[index]
        if char in _CLOSING and not name.startswith("->", index - 1 if index else 0):
            depth = max(0, depth - 1)
        yield index, char, depth
        if char in _OPENING:
            depth += 1
        index += 1
        if char == "r" and (symbol := _operator_symbol(name, index)):
            index += symbol


def _operator_symbol(name: str, end: int) -> int:
    """Length of the symbol behind an `operator` that ends at `end`, 0 if there is none."""
    start = end - len("operator")
    if start < 0 or not _OPERATOR.match(name, start):
        return 0
    match = _OPERATOR_SYMBOL.match(name, end)
    return match.end() - end if match else 0
