"""The reader of a command's arguments: argparse, with our words for what it cannot understand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from heapglass.errors import UsageError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite


class Parser(argparse.ArgumentParser):
    """As its parent, but an error is ours: one sentence. Options are never abbreviated: what is
    unique today may not be tomorrow."""

    def __init__(self, command: str) -> None:
        super().__init__(
            prog=f"heapglass {command}",
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.color = False  # Python 3.14 would colour --help, whatever --no-color says

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """As `parse_args`, which names the words that were left over: of an option that does not
        exist the value may have been taken for SOURCE, and SOURCE be left over in its place."""
        args, left_over = self.parse_known_args(arguments)
        for word in left_over:
            if word.startswith("-"):
                self.error(f"there is no option {word.partition('=')[0]}")
        if left_over:
            self.error(f"unrecognized arguments: {' '.join(left_over)}")
        return args

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Its parent says nothing when that fails."""
        print(self.format_help(), end="", file=file)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def actions(self) -> list[argparse.Action]:
        """All arguments and options that it knows."""
        return list(self._actions)
