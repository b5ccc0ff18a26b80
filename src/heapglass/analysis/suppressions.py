"""Leaks that are known and wanted: LeakSanitizer's suppressions, read and matched as it does.

A file has one `leak:PATTERN` per line; lines that begin with # are comments. A pattern is looked
for anywhere in the function, file and module of every frame; `*` stands for anything, `^` and `$`
for the beginning and the end.

Those that come with heapglass are about runtimes, and are held against the frames that the program
called the runtime with only: a constructor runs inside the loader, too, and is the program's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from heapglass.analysis.names import qualified_name
from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import FrameMemo, NamedStack
from heapglass.errors import UsageError
from heapglass.model import Frame


@dataclass(frozen=True, slots=True)
class Suppression:
    text: str  # the pattern as it was written
    origin: str  # the file it comes from, "" for the built-in ones
    pattern: re.Pattern[str]

    @property
    def is_built_in(self) -> bool:
        return not self.origin

    def covers(self, frame: Frame) -> bool:
        """The bare name counts as well: `^copy$` is meant for `copy(char const*)`, too."""
        function = frame.function
        texts = (function, qualified_name(function) if function else "", frame.file, frame.module)
        return any(text and self.pattern.search(text) for text in texts)


def parse_suppressions(text: str, origin: str) -> Iterator[Suppression]:
    """UsageError names the line that makes no sense. Suppressions of other sanitizers, which may
    stand in the same file, are none of ours."""
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        kind, separator, pattern = entry.partition(":")
        if not separator or not pattern:
            raise UsageError(f"{origin}:{number}: '{entry}' is no suppression: write leak:PATTERN")
        if kind == "leak":
            yield Suppression(pattern, origin, compile_template(pattern))


def compile_template(template: str) -> re.Pattern[str]:
    is_start, is_end = template.startswith("^"), template.endswith("$")
    inner = template[is_start : len(template) - is_end]
    body = ".*".join(re.escape(part) for part in inner.split("*"))
    return re.compile(f"{'^' if is_start else ''}{body}{'$' if is_end else ''}", re.DOTALL)


class Suppressor:
    """Finds the suppression for a stack; what it knows of a frame it remembers."""

    def __init__(self, suppressions: Iterable[Suppression]) -> None:
        self._suppressions: Sequence[Suppression] = tuple(suppressions)
        self._covering = FrameMemo(self._find_covering)
        self._is_plumbing = FrameMemo(Plumbing().covers)

    def find(self, stack: NamedStack) -> Suppression | None:
        """The first one that covers any of the frames, from the innermost out."""
        is_inner = True
        for frame in stack.frames:
            is_inner = is_inner and self._is_plumbing.of(frame)
            for one in self._covering.of(frame):
                if is_inner or not one.is_built_in:
                    return one
        return None

    def _find_covering(self, frame: Frame) -> Sequence[Suppression]:
        return tuple(one for one in self._suppressions if one.covers(frame))
