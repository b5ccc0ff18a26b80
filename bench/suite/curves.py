"""Growth: what an event costs as the program gets larger in one direction."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import machine
from .figures import numbers
from .measure import Command, Cost
from .session import Plan, Session
from .tools import EXACT, PLAIN
from .workloads import Scale, program

MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Curve:
    """`beyond` is where the curve is only continued, unless that was measured."""

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
    """CPU ns per operation, of the least disturbed run; what is over plain in each round; and what
    is kept of plain's throughput, where the workload tells (0 otherwise). Or why there are no
    numbers."""

    at: int
    plain_ns: float
    heapglass_ns: float
    rounds: Sequence[float] = ()
    kept: float = 0.0
    failure: str = ""

    @property
    def over_ns(self) -> float:
        return self.heapglass_ns - self.plain_ns


def powers(base: int, first: int, last: int) -> list[int]:
    return [base**exponent for exponent in range(first, last + 1)]


def deep(depth: int, scale: Scale) -> Command:
    """More frames are kept than by default: a cut stack would make the curve flat by itself."""
    command = program("pairs", str(depth), *scale.loop(50_000))
    return Command(command.argv, {"HEAPGLASS_DEPTH": "1100"})


def eventful(events: int, _: Scale) -> Command:
    """A pair is two events; of the rounds, the last quarter counts."""
    rounds = 100
    return program("pairs", "15", str(events // 2 // rounds), str(rounds))


CURVES = (
    Curve(
        "growth-events",
        "events so far (cost of a malloc+free pair in the last quarter)",
        powers(10, 6, 10),
        10**8,
        eventful,
        key="late_ns",
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


def run_curve(curve: Curve, session: Session, points: list[Point]) -> None:
    """Adds to `points` as they are done: whoever interrupts this has those before."""
    wanted = [at for at in curve.points if not session.plan.is_quick or at <= curve.last_quick]
    room = machine.available_bytes() * 3 // 4
    for at in wanted:
        if at * curve.bytes_each > room:
            break
        points.append(run_point(curve, at, session))


def run_point(curve: Curve, at: int, session: Session) -> Point:
    command = curve.command(at, Scale(session.plan.is_quick))
    plain: list[Cost] = []
    ours: list[Cost] = []
    start = time.monotonic()
    while not is_enough(len(plain), time.monotonic() - start, session.plan):
        plain.append(session.run_command(command, PLAIN, session.plan.limits))
        ours.append(session.run_command(command, EXACT, session.plan.limits))
    return point_of(curve.key, at, plain, ours)


def is_enough(done: int, seconds: float, plan: Plan) -> bool:
    """Of a point that takes minutes one round has to do; short ones are easily disturbed, all of
    them, and cost nothing more."""
    if not done or done == MOST_ROUNDS:
        return done > 0
    would_take = seconds / done * (done + 1)
    return would_take > plan.point_seconds or (done >= plan.point_rounds and seconds > 1)


def point_of(key: str, at: int, plain: list[Cost], ours: list[Cost]) -> Point:
    failures = [cost.failure for cost in [*plain, *ours] if cost.failure]
    least = [lowest(key, costs) for costs in (plain, ours)]
    if not all(least):
        return Point(at, 0, 0, failure=(failures or ["no number"])[0])
    elapsed = [lowest("wall_ns", costs) for costs in (plain, ours)]
    kept = elapsed[0] / elapsed[1] if all(elapsed) else 0.0
    pairs = zip(numbers(key, plain), numbers(key, ours), strict=False)
    return Point(at, least[0], least[1], [ours - plain for plain, ours in pairs], kept)


def lowest(key: str, costs: list[Cost]) -> float:
    return min(numbers(key, costs), default=0.0)


def continued(points: Sequence[Point], at: int) -> float | None:
    """What is over plain at a point that was not measured: on the straight line through the last
    three, drawn against the logarithm, so that each factor of ten adds as much as before."""
    if len(points) < 3:
        return None
    last = points[-3:]
    places = [math.log10(point.at) for point in last]
    line = statistics.linear_regression(places, [point.over_ns for point in last])
    return line.slope * math.log10(at) + line.intercept
