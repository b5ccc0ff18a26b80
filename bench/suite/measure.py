"""Runs one command under the meter and reads what it cost."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import Signals

from .places import BUILD

# Why the meter ended a command, in its words and ours.
ENDED = {"-": "", "timeout": "out of time", "memory": "out of memory", "stopped": "stopped"}


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float
    mebibytes: int


@dataclass(frozen=True, slots=True)
class Command:
    """What to run; `client`, when there is one, is run beside it and is not measured."""

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    client: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Cost:
    """Named numbers of one run: the meter's (cpu_s, wall_s, tree_kib) and the workload's own."""

    values: Mapping[str, float]
    failure: str = ""


def run(command: Command, directory: Path, limits: Limits) -> Cost:
    report, output = directory / "meter", directory / "output"
    settings = [f"{name}={value}" for name, value in command.env.items()]
    bounds = [str(limits.seconds), str(limits.mebibytes)]
    argv = [str(BUILD / "meter"), str(report), *bounds, *settings, *command.argv]
    with output.open("wb") as stdout:
        meter = subprocess.Popen(
            argv,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
        )
        try:
            if command.client:
                subprocess.run(command.client, stdin=subprocess.DEVNULL, check=False)
            meter.wait()
        finally:
            meter.terminate()  # no news to one that has ended
            meter.wait()
    cost = read_cost(report, output)
    left = [path for path in directory.rglob("*") if path not in {report, output}]
    return Cost({**cost.values, "written_bytes": stored_bytes(left)}, cost.failure)


def stored_bytes(paths: Iterable[Path]) -> float:
    """On disk: of a sparse file what there is of it."""
    return float(sum(512 * path.lstat().st_blocks for path in paths if path.is_file()))


def read_cost(report: Path, output: Path) -> Cost:
    if not report.exists():
        return Cost({}, "the meter failed")
    metered = dict(line.split(maxsplit=1) for line in report.read_text().splitlines())
    ended, status = metered.pop("ended"), int(metered.pop("status"))
    values = {name: float(value) for name, value in metered.items()}
    values |= own_numbers(output.read_text(errors="replace"))
    return Cost(values, ENDED[ended] or failure(status))


def failure(status: int) -> str:
    """As a shell has it: from 128 on it was a signal."""
    if status <= 128:
        return f"failed with {status}" if status else ""
    known = {signal.value for signal in Signals}
    return f"killed by {Signals(status - 128).name if status - 128 in known else status - 128}"


def own_numbers(text: str) -> dict[str, float]:
    """Lines of "name value" among whatever else the tool or the program printed."""
    numbers: dict[str, float] = {}
    for line in text.splitlines():
        match line.split():
            case [name, value] if name.replace("_", "").isalpha():
                try:
                    numbers[name] = float(value)
                except ValueError:
                    continue
    return numbers
