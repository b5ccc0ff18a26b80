"""Every workload with its goals: what is run, which number of it counts, who else is asked."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from . import inputs
from .figures import CPU, OVER_MS, OVER_NS, OWN_MIB, RSS, THROUGHPUT, Figure
from .measure import Command
from .places import BUILD, WORKLOADS


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to do: quick or not, and how much less for a slow tool."""

    is_quick: bool
    slowness: int = 1

    def count(self, full: int, quick: int) -> str:
        return str(quick if self.is_quick else full)

    def loop(self, operations: int, rounds: int = 8) -> list[str]:
        """Arguments of a workload that times its own rounds: operations, rounds."""
        times = 1 if self.is_quick else 3
        return [str(max(1000, operations // self.slowness)), str(rounds * times)]


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit on a figure of one of heapglass's modes; without a limit, the best of `below`."""

    figure: Figure
    limit: float | None
    tool: str = "heapglass"
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    name: str
    title: str
    command: Callable[[Scale], Command]
    goals: tuple[Goal, ...]
    rivals: tuple[str, ...] = ()  # the first one also in a quick run
    is_long: bool = False  # a real program: fewer rounds in a quick run


FAST_RIVALS = ("heaptrack", "heaptrack -r", "jemalloc sampled", "tcmalloc sampled")
EXACT_RIVALS = (*FAST_RIVALS, "massif", "dhat", "jemalloc exact", "gperftools exact")
SAMPLERS = ("jemalloc sampled", "tcmalloc sampled")


def program(name: str, *arguments: str) -> Command:
    return Command([str(BUILD / name), *arguments])


def pairs(depth: int, limit: float, suffix: str = "") -> Workload:
    pointers = ", frame pointers" if suffix else ""
    return Workload(
        f"pairs-{depth}{suffix.replace('.', '-')}",
        f"malloc+free, repeated stack, depth {depth}{pointers}",
        lambda scale: program(f"pairs{suffix}", str(depth), *scale.loop(200_000)),
        (Goal(OVER_NS, limit),),
        () if suffix else EXACT_RIVALS,
    )


def stacks(name: str, title: str, arguments: list[str], limit: float) -> Workload:
    return Workload(
        name,
        title,
        lambda scale: program("stacks", *arguments, *scale.loop(100_000)),
        (Goal(OVER_NS, limit),),
        EXACT_RIVALS,
    )


def growing(depth: int, limit: float) -> Workload:
    return Workload(
        f"realloc-{depth}",
        f"realloc growth, depth {depth}, per call",
        lambda scale: program("growing", str(depth), *scale.loop(100_000)),
        (Goal(OVER_NS, limit),),
        FAST_RIVALS,
    )


THREADS = {
    "private": "private windows",
    "handoff": "producer/consumer",
    "spin": "bare malloc+free",
}


def threads(kind: str, count: int) -> Workload:
    """Short rounds, and many: only one in which all processors were ours shows throughput. One
    thread alone is there to see how more of them scale, bare pairs to see what is added."""
    is_judged = kind != "spin" and count > 1
    return Workload(
        f"{kind}-{count}",
        f"{THREADS[kind]}, {count} thread{'s' * (count > 1)}",
        lambda scale: program("threads", kind, str(count), *scale.loop(10_000, 120)),
        (Goal(THROUGHPUT, 65 if is_judged else None),),
        FAST_RIVALS if kind != "spin" else (),
    )


def sqlite(scale: Scale) -> Command:
    script = inputs.sqlite_script(int(scale.count(400_000, 200_000)))
    return Command(["sqlite3", "-init", str(script), ":memory:", "select 1"])


def python(scale: Scale) -> Command:
    interpreter = os.path.realpath(sys.executable)
    script = str(WORKLOADS / "objects.py")
    return Command([interpreter, script, scale.count(100_000, 25_000)], {"PYTHONMALLOC": "malloc"})


def perl(scale: Scale) -> Command:
    return Command(["perl", str(WORKLOADS / "words.pl"), scale.count(250_000, 80_000)])


def xmllint(scale: Scale) -> Command:
    return Command(
        ["xmllint", "--noout", str(inputs.xml_document(int(scale.count(300_000, 120_000))))]
    )


def redis(scale: Scale) -> Command:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = ["redis-server", "--bind", "127.0.0.1", "--port", port, "--save", ""]
    client = [str(WORKLOADS / "redis_client.sh"), port, scale.count(100_000, 15_000)]
    return Command(server, client=client)


def compiler_flags(scale: Scale) -> list[str]:
    return ["-DPARTS=1"] if scale.is_quick else ["-DPARTS=4", "-DWITH_REGEX"]


def compiler(scale: Scale) -> Command:
    source = str(WORKLOADS / "templates.cc")
    return Command(["g++", "-O2", *compiler_flags(scale), "-c", source, "-o", "templates.o"])


def compiler_proper(scale: Scale) -> Command:
    """The child alone: heaptrack follows no children, and would measure only the driver."""
    driver = [*compiler(scale).argv, "-###"]
    said = subprocess.run(driver, capture_output=True, text=True, check=True).stderr
    lines = [line for line in said.splitlines() if "cc1plus" in line and " -quiet" in line]
    if not lines:
        raise ValueError("g++ does not say how it calls cc1plus")
    argv = shlex.split(lines[0])
    argv[argv.index("-o") + 1] = "templates.s"
    return Command(argv)


def real(
    name: str,
    title: str,
    command: Callable[[Scale], Command],
    goals: tuple[Goal, ...],
    rivals: tuple[str, ...] = FAST_RIVALS,
) -> Workload:
    """By default only rivals that end in time: some take minutes for a program of a second."""
    return Workload(name, title, command, goals, rivals, is_long=True)


SAMPLED_GOAL = Goal(CPU, 1.01, "heapglass sampled")

WORKLOADS_ALL = (
    *(pairs(depth, limit) for depth, limit in ((5, 12), (15, 17), (30, 25))),
    *(pairs(depth, limit, ".fp") for depth, limit in ((5, 12), (15, 17), (30, 25))),
    stacks("random", "1024 random stacks, depth 15", ["random", "1024", "15"], 60),
    stacks("fan", "4096 stacks fanned out", ["fan", "4096", "13"], 90),
    growing(5, 50),
    growing(30, 80),
    *(threads(kind, count) for kind in THREADS for count in (1, 2, 4)),
    real("sqlite", "sqlite3 script", sqlite, (Goal(CPU, 1.05), SAMPLED_GOAL), EXACT_RIVALS),
    real(
        "python",
        "python3 json/dict, PYTHONMALLOC=malloc",
        python,
        (Goal(CPU, 1.20), SAMPLED_GOAL),
        (*FAST_RIVALS, "memray", "memray --native"),
    ),
    real("perl", "perl words", perl, (Goal(CPU, 1.12),)),
    real("xmllint", "xmllint, big document", xmllint, (Goal(CPU, 1.22), Goal(RSS, 1.28))),
    real("redis", "redis-server under redis-benchmark", redis, (Goal(CPU, 1.22), SAMPLED_GOAL)),
    real("g++", "g++ -O2 -c with its children", compiler, (Goal(CPU, 1.12),), ()),
    real("cc1plus", "cc1plus alone", compiler_proper, (Goal(CPU, 1.12),)),
    real(
        "live",
        "5 million small live blocks",
        lambda _: program("live", "5000000", "0"),
        (Goal(RSS, 1.28), Goal(CPU, None)),
        ("heaptrack", "heaptrack -r", "massif", "jemalloc sampled", "tcmalloc sampled"),
    ),
    Workload(
        "sites",
        "20,000 sites: own memory",
        lambda scale: program("stacks", "fan", "20000", "20", *scale.loop(100_000)),
        (Goal(OWN_MIB, 24),),
        ("heaptrack", "heaptrack -r"),
    ),
    Workload(
        "sampled-16k",
        "sampled malloc+free of 16 KiB",
        lambda scale: program("pairs", "15", *scale.loop(200_000), "16384"),
        (Goal(OVER_NS, None, "heapglass sampled", SAMPLERS),),
        (*SAMPLERS, "jemalloc", "tcmalloc"),
    ),
    Workload(
        "paused",
        "paused, malloc+free",
        lambda scale: program("pairs", "15", *scale.loop(200_000)),
        (Goal(OVER_NS, 1.5, "heapglass paused"),),
    ),
    Workload(
        "first",
        "start of a program that allocates",
        lambda _: program("pairs", "5", "1", "1"),
        (Goal(OVER_MS, 3),),
        ("heaptrack",),
    ),
    Workload(
        "start",
        "start of `true`",
        lambda _: Command([shutil.which("true") or "true"]),
        (Goal(OVER_MS, 3), Goal(OVER_MS, 50, "heapglass run")),
        ("heaptrack",),
    ),
)
