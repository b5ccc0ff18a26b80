"""What a shell may complete: the commands, their options, and the values of those."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from heapglass.cli.main import COMMANDS, load
from heapglass.cli.parser import Parser
from heapglass.cli.run import USAGE

_RUN_OPTION = re.compile(
    r"^ {2,6}(?:(-\w), )?(--[a-z-]+)( \[?[A-Z]+\]?)?(?: +(\S.*))?$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class OptionWords:
    names: tuple[str, ...]  # such as -n and --limit
    text: str  # the beginning of its help
    has_value: bool
    values: tuple[str, ...] = ()  # all there are, if they can be listed
    needs_value: bool = True  # if it has one


@dataclass(frozen=True, slots=True)
class CommandWords:
    name: str
    text: str
    options: tuple[OptionWords, ...]
    values: tuple[str, ...] = ()  # of its arguments, if they can be listed; else files


def list_commands() -> tuple[CommandWords, ...]:
    return tuple(_command(name, text) for name, text in COMMANDS.items())


def _command(name: str, text: str) -> CommandWords:
    if name == "run":
        return CommandWords(name, text, _run_options())
    parser = Parser(name)
    load(name).configure(parser)
    actions = parser.actions()
    arguments = [action for action in actions if not action.option_strings]
    return CommandWords(
        name,
        text,
        tuple(_option(action) for action in actions if action.option_strings),
        tuple(str(choice) for action in arguments for choice in action.choices or ()),
    )


def _option(action: argparse.Action) -> OptionWords:
    return OptionWords(
        tuple(action.option_strings),
        _brief(action.help or ""),
        action.nargs != 0,
        tuple(str(choice) for choice in action.choices or ()),
    )


def _run_options() -> tuple[OptionWords, ...]:
    """`run` reads its arguments itself, so that only its help tells."""
    text, _, _ = USAGE.partition("\nnames:\n")
    return tuple(
        OptionWords(
            tuple(name for name in (match[1], match[2]) if name),
            _brief(match[4] or ""),
            match[3] is not None,
            needs_value="[" not in (match[3] or ""),
        )
        for match in _RUN_OPTION.finditer(text)
    )


def _brief(text: str) -> str:
    """The first part of a sentence, fit for a line in a menu."""
    return re.split(r"[;:(]|, such", text, maxsplit=1)[0].strip()[:60]


def all_names(options: Sequence[OptionWords]) -> list[str]:
    return [name for option in options for name in option.names]
