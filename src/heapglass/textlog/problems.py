"""What was not understood: how much of it, and the first of it with line numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

MOST_KEPT = 100
_EXCERPT = 60


@dataclass(frozen=True, slots=True)
class Problem:
    line: int  # from 1
    what: str
    excerpt: str


@dataclass(slots=True)
class Problems:
    count: int = 0
    first: list[Problem] = field(default_factory=list)

    def add(self, line: int, what: str, text: bytes) -> None:
        self.count += 1
        if len(self.first) < MOST_KEPT:
            excerpt = text[:_EXCERPT].decode("utf-8", "backslashreplace")
            self.first.append(Problem(line, what, excerpt))
