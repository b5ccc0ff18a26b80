"""Runs a program under cachegrind and reads what each function of the library took."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .callgrind import REDIRECTED

# A first level of 32 KiB, and a second one of 1 MiB in the last one's place.
CACHES = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,8,64")
OURS = "native/src/"


@dataclass(frozen=True, slots=True)
class Cost:
    instructions: int = 0
    first_misses: int = 0  # of instructions and data, in the first level
    second_misses: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.instructions + other.instructions,
            self.first_misses + other.first_misses,
            self.second_misses + other.second_misses,
        )


@dataclass(slots=True)
class Costs:
    """Of the whole run, and of the library's functions with what is inlined into them."""

    total: Cost = Cost()
    functions: dict[str, Cost] = field(default_factory=dict)

    @property
    def library(self) -> Cost:
        return sum(self.functions.values(), Cost())


def simulate(argv: Sequence[str], env: Mapping[str, str], directory: Path) -> Costs:
    """`argv` runs where the caller is, with the caller's environment and `env`."""
    out = directory / "cachegrind"
    valgrind = ["valgrind", "--quiet", "--tool=cachegrind", f"--cachegrind-out-file={out}"]
    command = ["env", *(f"{name}={value}" for name, value in env.items())]
    command += [*valgrind, "--cache-sim=yes", *CACHES, REDIRECTED, *argv]
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if not out.exists():
        sys.exit(f"{argv[0]} could not be run under valgrind:\n{done.stderr[-2000:]}")
    return read_costs(out.read_text(errors="replace"))


def read_costs(text: str) -> Costs:
    costs, events, file, function = Costs(), [""], "", ""
    for line in text.splitlines():
        if line.startswith("events: "):
            events = line.split()[1:]
        elif line.startswith("fl="):
            file = line[3:]
        elif line.startswith("fn="):
            function = line[3:]
        elif line[:1].isdigit():
            cost = _read_cost(events, line)
            costs.total += cost
            if OURS in file:
                costs.functions[function] = costs.functions.get(function, Cost()) + cost
    return costs


def _read_cost(events: Sequence[str], line: str) -> Cost:
    """A line's number, and its counts; those at the end that are 0 may be missing."""
    seen = dict(zip(events, map(int, line.split()[1:]), strict=False))
    first, second = (
        sum(seen.get(f"{kind}{level}{access}", 0) for kind, access in ("Ir", "Dr", "Dw"))
        for level in ("1m", "Lm")
    )
    return Cost(seen.get("Ir", 0), first, second)
