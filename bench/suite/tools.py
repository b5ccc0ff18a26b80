"""The tools a workload runs under: heapglass in its modes, and the rivals in theirs."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .measure import Command
from .places import BUILD

LIBRARIES = Path("/usr/lib")


def is_installed(name: str) -> bool:
    """Whether there is a library of this name."""
    return any(LIBRARIES.glob(f"*/{name}")) or any(LIBRARIES.glob(name))


@dataclass(frozen=True, slots=True)
class Tool:
    """How a command becomes that command under the tool. In the strings, {library} is heapglass's,
    {out} a directory for what the tool writes.

    `slowness` divides the operations of workloads that are counted per operation, so that a slow
    tool ends in reasonable time. `option` names an environment variable that the library must know:
    a mode not built yet is left out, and appears by itself once it is.
    """

    name: str
    before: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    slowness: int = 1
    option: str = ""
    preload: str = ""
    python_only: bool = False
    is_rival: bool = True

    def apply(self, command: Command, library: Path, out: Path) -> Command:
        def fill(text: str) -> str:
            return text.replace("{library}", str(library)).replace("{out}", str(out))

        env = dict(command.env) | {name: fill(value) for name, value in self.env.items()}
        if self.preload:
            env["LD_PRELOAD"] = fill(self.preload)
        rest = command.argv[1:] if self.python_only else command.argv
        return Command([*map(fill, self.before), *rest], env, command.client)

    def is_there(self, library: Path) -> bool:
        if self.option and f"{self.option}\0".encode() not in library.read_bytes():
            return False
        if self.preload and "{library}" not in self.preload:
            return is_installed(self.preload)
        return not self.before or shutil.which(self.before[0]) is not None


HEAPGLASS_ENV = {"HEAPGLASS_OUT": "{out}/%e.%p.heapglass", "HEAPGLASS_QUIET": "1"}
JEMALLOC, TCMALLOC = "libjemalloc.so.2", "libtcmalloc.so.4"
MEMRAY = str(BUILD / "memray" / "bin" / "python")


def heapglass(name: str, option: str = "", value: str = "") -> Tool:
    env = HEAPGLASS_ENV | ({option: value} if option else {})
    return Tool(name, env=env, option=option, preload="{library}", is_rival=False)


def valgrind(tool: str) -> Tool:
    before = ("valgrind", f"--tool={tool}", f"--{tool}-out-file={{out}}/{tool}")
    return Tool(tool, before, slowness=20)


def jemalloc_env(sampled_log2: int) -> Mapping[str, str]:
    return {"MALLOC_CONF": f"prof:true,lg_prof_sample:{sampled_log2},prof_prefix:{{out}}/jemalloc"}


PLAIN = Tool("plain", is_rival=False)
EXACT = heapglass("heapglass")
SAMPLED = heapglass("heapglass sampled", "HEAPGLASS_SAMPLE", "512k")
PAUSED = heapglass("heapglass paused", "HEAPGLASS_PAUSED", "1")
LAUNCHED = Tool(
    "heapglass run",
    (str(Path(sys.executable).with_name("heapglass")), "run", "-q", "-o", "{out}/run.hg", "--"),
    is_rival=False,
)
HEAPTRACK = Tool("heaptrack", ("heaptrack", "-o", "{out}/heaptrack"), slowness=8)

TOOLS = (
    PLAIN,
    EXACT,
    SAMPLED,
    PAUSED,
    LAUNCHED,
    HEAPTRACK,
    Tool("heaptrack -r", ("heaptrack", "-r", "-o", "{out}/heaptrack"), slowness=8),
    valgrind("massif"),
    valgrind("dhat"),
    Tool("jemalloc exact", env=jemalloc_env(0), slowness=100, preload=JEMALLOC),
    Tool("jemalloc", preload=JEMALLOC),
    Tool("jemalloc sampled", env=jemalloc_env(19), preload=JEMALLOC),
    Tool(
        "gperftools exact",
        env={"HEAPPROFILE": "{out}/gperftools"},
        preload=TCMALLOC,
        slowness=400,
    ),
    Tool("tcmalloc", preload=TCMALLOC),
    Tool("tcmalloc sampled", env={"TCMALLOC_SAMPLE_PARAMETER": "524288"}, preload=TCMALLOC),
    Tool(
        "memray",
        (MEMRAY, "-m", "memray", "run", "-q", "-o", "{out}/memray"),
        python_only=True,
    ),
    Tool(
        "memray --native",
        (MEMRAY, "-m", "memray", "run", "-q", "--native", "-o", "{out}/memray"),
        python_only=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}
