"""Runs the symbolizers of other toolchains, for what `symbolic` does not read.

Neither may go to the network on its own: servers of debug information are asked by `debuginfod`
alone, and only when that is allowed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence

from heapglass.symbols.raw import SymbolError

LONGEST_SECONDS = 300


def find_tool(*names: str) -> str:
    """The path of the first of these programs that is installed, "" when none is."""
    return next(filter(None, map(shutil.which, names)), "")


def ask(command: Sequence[str], addresses: Iterable[int], directory: str | None = None) -> str:
    """What the program, run in that directory, prints for these addresses; SymbolError when it
    fails."""
    environment = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
    name = os.path.basename(command[0])
    try:
        result = subprocess.run(
            command,
            input="".join(f"{address:#x}\n" for address in addresses),
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=environment | {"LC_ALL": "C"},
            cwd=directory,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SymbolError(f"{name} did not answer within {LONGEST_SECONDS} seconds") from None
    except (OSError, ValueError) as error:
        raise SymbolError(f"{name} cannot be run: {error}") from None
    if result.returncode:
        reason = (result.stderr.splitlines() or [f"status {result.returncode}"])[0]
        raise SymbolError(f"{name} failed: {reason}")
    return result.stdout
