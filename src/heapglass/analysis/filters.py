"""Which sites are looked at: by what is on their stacks, and by size."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from heapglass.analysis.counters import Rows
from heapglass.analysis.order import SortKey, size_column
from heapglass.analysis.stacks import NamedStack
from heapglass.errors import UsageError
from heapglass.model import Frame, SiteTable


class FilterField(StrEnum):
    ANY = "any"
    FUNCTION = "function"
    FILE = "file"
    MODULE = "module"


# A second colon makes it a C++ name that happens to begin so, as in `file::open`.
_FIELD = re.compile(r"(function|file|module):(?!:)(.*)", re.DOTALL)

_TEXTS: dict[FilterField, Callable[[Frame], tuple[str, ...]]] = {
    FilterField.ANY: lambda frame: (frame.function, frame.file, frame.module),
    FilterField.FUNCTION: lambda frame: (frame.function,),
    FilterField.FILE: lambda frame: (frame.file,),
    FilterField.MODULE: lambda frame: (frame.module,),
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Passes a stack when any of its frames has the pattern somewhere in the field."""

    field: FilterField
    pattern: re.Pattern[str]

    def passes(self, stack: NamedStack) -> bool:
        texts = _TEXTS[self.field]
        search = self.pattern.search
        return any(search(text) for frame in stack.frames for text in texts(frame))


def parse_filter(text: str) -> Filter:
    """`field:regex` searches one field; anything else is looked for as it is, in any case, in
    function, file and module."""
    match = _FIELD.fullmatch(text)
    if not text or (match and not match[2]):
        raise UsageError(f"The filter '{text}' is empty")
    if match is None:
        return Filter(FilterField.ANY, re.compile(re.escape(text), re.IGNORECASE))
    return Filter(FilterField(match[1]), compile_pattern(match[2]))


def field_filter(field: FilterField, text: str) -> Filter:
    """The regular expression `text` in one field."""
    return Filter(field, compile_pattern(text))


def compile_pattern(text: str) -> re.Pattern[str]:
    """A regular expression as the user wrote it, or a UsageError."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"'{text}' is not a regular expression: {error}") from None


def passes_all(stack: NamedStack, filters: Iterable[Filter]) -> bool:
    return all(candidate.passes(stack) for candidate in filters)


def at_least(table: SiteTable, rows: Rows, key: SortKey, min_bytes: int) -> Rows:
    """Those of `rows` whose size, as `key` sees it, is not below `min_bytes`."""
    if min_bytes <= 0:
        return rows
    sizes = getattr(table, size_column(key))
    kept: Rows = rows[np.flatnonzero(sizes[rows] >= min_bytes)]
    return kept
