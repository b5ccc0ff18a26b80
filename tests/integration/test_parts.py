"""The micro benchmarks of the hot path fit the library, and tell all that they are asked for."""

from __future__ import annotations

import math
import os
import subprocess
from pathlib import Path

from suite.measure import own_numbers
from suite.parts import PARTS, Part, build
from suite.tools import HEAPGLASS_ENV

TRIES = 5  # on a busy machine a difference of two times may come out below zero


def numbers_of(part: Part, directory: Path) -> dict[str, float]:
    env = {name: value.format(out=directory) for name, value in HEAPGLASS_ENV.items()}
    done = subprocess.run(
        [directory / part.source],
        env=os.environ | env,
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    return own_numbers(done.stdout)


def wrong_in(part: Part, directory: Path) -> list[str]:
    wrong = ["never run"]
    for _ in range(TRIES):
        if not wrong:
            break
        told = numbers_of(part, directory)
        wrong = [f"{name} is missing" for name in part.numbers.keys() - told.keys()]
        wrong += [f"{name} is nowhere shown" for name in told.keys() - part.numbers.keys()]
        wrong += [f"{name} is {ns}" for name, ns in told.items() if not 0 < ns < math.inf]
    return wrong


def test_every_part_builds_and_tells_its_numbers(tmp_path: Path) -> None:
    assert build(PARTS, tmp_path) == {}
    found = {part.name: wrong_in(part, tmp_path) for part in PARTS}
    assert found == {part.name: [] for part in PARTS}
