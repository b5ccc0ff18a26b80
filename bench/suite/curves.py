"""Growth: what an event costs as the program gets larger in one direction."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import machine
from .measure import Command, Cost
from .session import Session
from .tools import EXACT, PLAIN
from .workloads import Scale, program

ENOUGH_SECONDS = 40  # for one point: after that two runs of each side have to do


@dataclass(frozen=True, slots=True)
class Curve:
    """`beyond` is where the curve is only continued: too much for the minutes there are."""

    name: str
    title: str
    points: Sequence[int]  # of a full run
    last_quick: int
    command: Callable[[int, Scale], Command]
    key: str = "ns"
    beyond: int = 0
    bytes_each: int = 0  # of memory; points that do not fit into this machine's are left out


@dataclass(frozen=True, slots=True)
class Point:
    """CPU ns per operation, of the least disturbed run; and what is kept of plain's throughput,
    where the workload tells (0 otherwise)."""

    at: int
    plain_ns: float
    heapglass_ns: float
    kept: float = 0.0

    @property
    def over_ns(self) -> float:
        return self.heapglass_ns - self.plain_ns


def powers(base: int, first: int, last: int) -> list[int]:
    return [base**exponent for exponent in range(first, last + 1)]


def deep(depth: int, scale: Scale) -> Command:
    """More frames are kept than by default: a cut stack would make the curve flat by itself."""
    command = program("pairs", str(depth), *scale.loop(50_000))
    return Command(command.argv, {"HEAPGLASS_DEPTH": "1100"})


def eventful(pairs: int, _: Scale) -> Command:
    rounds = 20
    return program("pairs", "15", str(pairs // rounds), str(rounds))


CURVES = (
    Curve(
        "growth-events",
        "malloc+free pairs so far (cost of the last quarter)",
        powers(10, 6, 9),
        10**7,
        eventful,
        key="late_ns",
        beyond=10**10,
    ),
    Curve(
        "growth-sites",
        "sites in random order, depth 20, as many frames change as sites need",
        powers(10, 1, 6),
        10**5,
        lambda sites, scale: program("stacks", "fan", str(sites), "21", *scale.loop(50_000)),
    ),
    Curve(
        "growth-wide",
        "sites in random order, depth 20, three to four frames change",
        powers(10, 1, 6),
        10**5,
        lambda sites, scale: program("stacks", "wide", str(sites), "20", *scale.loop(50_000)),
    ),
    Curve(
        "growth-blocks",
        "live blocks, random ones replaced",
        powers(10, 3, 8),
        10**6,
        lambda blocks, scale: program("live", str(blocks), *scale.loop(50_000)),
        beyond=10**8,
        bytes_each=64,
    ),
    Curve(
        "growth-threads",
        "threads, private windows",
        powers(2, 0, 6),
        64,
        # As many for each thread, however many there are: what a thread does only after so many
        # events would otherwise look like a matter of how many threads there are.
        lambda count, scale: program("threads", "private", str(count), *scale.loop(25_000)),
    ),
    Curve(
        "growth-depth", "frames of the repeated stack", [1, 3, 10, 30, 100, 300, 1000], 1000, deep
    ),
)


def run_curve(curve: Curve, session: Session) -> list[Point]:
    wanted = [at for at in curve.points if not session.plan.is_quick or at <= curve.last_quick]
    room = machine.available_bytes() * 3 // 4
    fitting = [at for at in wanted if at * curve.bytes_each <= room]
    return [point for at in fitting if (point := run_point(curve, at, session))]


def run_point(curve: Curve, at: int, session: Session) -> Point | None:
    command = curve.command(at, Scale(session.plan.is_quick))
    plain: list[Cost] = []
    ours: list[Cost] = []
    start = time.monotonic()
    for done in range(2 if session.plan.is_quick else 5):
        if done >= 2 and time.monotonic() - start > ENOUGH_SECONDS:
            break
        plain.append(session.run_command(command, PLAIN, session.plan.limits))
        ours.append(session.run_command(command, EXACT, session.plan.limits))
    least = [lowest(curve.key, costs) for costs in (plain, ours)]
    elapsed = [lowest("wall_ns", costs) for costs in (plain, ours)]
    kept = elapsed[0] / elapsed[1] if all(elapsed) else 0.0
    return Point(at, least[0], least[1], kept) if all(least) else None


def lowest(key: str, costs: list[Cost]) -> float:
    return min((cost.values[key] for cost in costs if key in cost.values), default=0.0)


def continued(points: Sequence[Point], at: int) -> float | None:
    """What is over plain at a point that was not measured: on the straight line through the last
    three, drawn against the logarithm, so that each factor of ten adds as much as before."""
    if len(points) < 3:
        return None
    last = points[-3:]
    places = [math.log10(point.at) for point in last]
    line = statistics.linear_regression(places, [point.over_ns for point in last])
    return line.slope * math.log10(at) + line.intercept
