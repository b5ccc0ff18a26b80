"""Growth: what an event costs as the program gets larger in one direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .measure import Command, Cost
from .session import Session
from .tools import EXACT, PLAIN
from .workloads import Scale, program


@dataclass(frozen=True, slots=True)
class Curve:
    name: str
    title: str
    points: Sequence[int]  # of a full run
    last_quick: int
    command: Callable[[int, Scale], Command]
    key: str = "ns"


@dataclass(frozen=True, slots=True)
class Point:
    """CPU ns per operation, of the least disturbed run."""

    at: int
    plain_ns: float
    heapglass_ns: float


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
        "events",
        "malloc+free pairs so far (cost of the last quarter)",
        powers(10, 6, 9),
        10**7,
        eventful,
        key="late_ns",
    ),
    Curve(
        "sites",
        "sites, each with a live block; stacks in random order, depth 20",
        powers(10, 1, 6),
        10**5,
        lambda sites, scale: program("stacks", "fan", str(sites), "21", *scale.loop(50_000)),
    ),
    Curve(
        "blocks",
        "live blocks, random ones replaced",
        powers(10, 3, 7),
        10**7,
        lambda blocks, scale: program("live", str(blocks), *scale.loop(50_000)),
    ),
    Curve(
        "threads",
        "threads, private windows",
        powers(2, 0, 6),
        64,
        # As many for each thread, however many there are: what a thread does only after so many
        # events would otherwise look like a matter of how many threads there are.
        lambda count, scale: program("threads", "private", str(count), *scale.loop(25_000)),
    ),
    Curve("depth", "frames of the repeated stack", [1, 3, 10, 30, 100, 300, 1000], 1000, deep),
)


def run_curve(curve: Curve, session: Session) -> list[Point]:
    wanted = [at for at in curve.points if not session.plan.is_quick or at <= curve.last_quick]
    return [point for at in wanted if (point := run_point(curve, at, session))]


def run_point(curve: Curve, at: int, session: Session) -> Point | None:
    command = curve.command(at, Scale(session.plan.is_quick))
    plain, ours = [], []
    for _ in range(2 if session.plan.is_quick else 5):
        plain.append(session.run_command(command, PLAIN, session.plan.limits))
        ours.append(session.run_command(command, EXACT, session.plan.limits))
    least = [lowest(curve.key, costs) for costs in (plain, ours)]
    return Point(at, least[0], least[1]) if all(least) else None


def lowest(key: str, costs: list[Cost]) -> float:
    return min((cost.values[key] for cost in costs if key in cost.values), default=0.0)
