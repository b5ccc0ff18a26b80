"""The command, run as a user would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import heapglass

TIMEOUT_SECONDS = 120
WIDTH = "100"  # else it would be that of the terminal that the tests are started from


@dataclass(frozen=True, slots=True)
class Cli:
    """`heapglass` in a directory of its own."""

    directory: Path

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "heapglass", *map(str, arguments)]

    def environment(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        source = str(Path(heapglass.__file__).parent.parent)
        ours = {"PYTHONPATH": source, "PYTHONSAFEPATH": "1", "COLUMNS": WIDTH}
        return os.environ | ours | dict(changes or {})

    def __call__(
        self,
        *arguments: str | Path,
        environment: Mapping[str, str] | None = None,
        stdin: str = "",
        cwd: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*arguments),
            cwd=cwd or self.directory,
            env=self.environment(environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.argv(*arguments),
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def recordings(self) -> list[Path]:
        return sorted(self.directory.glob("*.heapglass*"))


def bare(*argv: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Any other command."""
    return subprocess.run(argv, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def only(paths: list[Path]) -> Path:
    """The one that there is."""
    (path,) = paths
    return path
