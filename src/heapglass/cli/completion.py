"""`heapglass completion`: words for shells."""

from __future__ import annotations

import argparse

from heapglass.cli.completion_scripts import SCRIPTS
from heapglass.cli.completion_words import list_commands

NAME = "completion"
HELP = "print a script that lets a shell complete commands"

_DESCRIPTION = """Prints a script with which a shell completes the commands of heapglass, their
options, and the values of these."""
_EXAMPLES = """examples:
  eval "$(heapglass completion bash)"     # in ~/.bashrc
  eval "$(heapglass completion zsh)"      # in ~/.zshrc, behind compinit
  heapglass completion fish > ~/.config/fish/completions/heapglass.fish"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.epilog = _EXAMPLES
    parser.add_argument("shell", metavar="SHELL", choices=sorted(SCRIPTS), help="bash, fish or zsh")


def main(args: argparse.Namespace) -> int:
    print(SCRIPTS[args.shell](list_commands()), end="")
    return 0
