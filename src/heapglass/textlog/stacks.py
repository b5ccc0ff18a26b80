"""The distinct stacks of one process. A stack's text is looked at once, then known by its bytes."""

from __future__ import annotations

import re

from heapglass.model import Pseudo, Stack
from heapglass.textlog.entries import FULL_STACK, NO_STACK
from heapglass.textlog.maps import Mapping, Modules
from heapglass.textlog.problems import Problems

MOST_STACKS = 1 << 19
_MOST_TEXT = 1 << 27  # bytes of texts remembered

# An address, perhaps with words behind it; or as backtrace_symbols() has it, last and in brackets.
_FRAME = re.compile(rb"\s*(?:(0x[\da-fA-F]{1,16})\b.*|.*\[(0x[\da-fA-F]{1,16})\]\s*)")
_NULL_PAGE = 4096


class Stacks:
    """Numbered as in entries.py; equal stacks in the same modules have one number, whatever the
    text around their addresses."""

    def __init__(self) -> None:
        self.modules = Modules()
        self._stacks: list[Stack] = [Stack(()), Stack((), Pseudo.OTHER), Stack(())]
        self._numbers: dict[Stack, int] = {}
        self._texts: dict[bytes, int] = {}
        self._text_bytes = 0

    def __len__(self) -> int:
        return len(self._stacks)

    def __getitem__(self, number: int) -> Stack:
        return self._stacks[number]

    def remap(self, mappings: list[Mapping], executable: str) -> None:
        """The same text may mean other frames from now on."""
        self._forget_texts()
        self.modules.remap(mappings, executable)

    def number_all(self, texts: list[bytes], lines: list[int], problems: Problems) -> list[int]:
        """A number for each text; `lines` are those that the texts start at."""
        known = self._texts.get
        numbers = [known(text, 0) for text in texts]
        if 0 in numbers:
            for at, number in enumerate(numbers):
                if not number:
                    # It may have become known a moment ago.
                    numbers[at] = known(texts[at]) or self._learn(texts[at], lines[at], problems)
        return numbers

    def _learn(self, text: bytes, line: int, problems: Problems) -> int:
        if self._text_bytes + len(text) > _MOST_TEXT:
            self._forget_texts()
        self._text_bytes += len(text)
        number = self._texts[text] = self._number(self._parse(text, line, problems))
        return number

    def _number(self, stack: Stack) -> int:
        if not stack.frames:
            return NO_STACK
        number = self._numbers.get(stack)
        if number is None:
            if len(self._stacks) >= MOST_STACKS:
                return FULL_STACK
            number = self._numbers[stack] = len(self._stacks)
            self._stacks.append(stack)
        return number

    def _parse(self, text: bytes, line: int, problems: Problems) -> Stack:
        frames = []
        for at, part in enumerate(text.splitlines()):
            match = _FRAME.fullmatch(part)
            address = int(match[1] or match[2], 16) if match else 0
            if address >= _NULL_PAGE:
                frames.append(self.modules.locate(address))
            elif part.strip():
                problems.add(line + at, "a line in a stack that is no frame", part)
        return Stack(tuple(frames))

    def _forget_texts(self) -> None:
        self._texts.clear()
        self._text_bytes = 0
