"""Standard output that claims to be a terminal."""

from __future__ import annotations

import io
from typing import cast


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return cast("io.BytesIO", self.buffer).getvalue().decode(self.encoding)
