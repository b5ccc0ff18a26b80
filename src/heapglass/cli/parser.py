"""The reader of a command's arguments: argparse, with our words for what it cannot understand."""

from __future__ import annotations

import argparse
from typing import NoReturn

from heapglass.errors import UsageError


class Parser(argparse.ArgumentParser):
    """As its parent, but an error is ours: one sentence. Options are never abbreviated: what is
    unique today may not be tomorrow."""

    def __init__(self, command: str) -> None:
        super().__init__(
            prog=f"heapglass {command}",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def actions(self) -> list[argparse.Action]:
        """All arguments and options that it knows."""
        return list(self._actions)
