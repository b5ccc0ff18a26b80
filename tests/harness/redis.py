"""A redis-server, with or without heapglass, its load, and what anyone can see of it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.conversation import PATIENCE_SECONDS, until
from harness.running import library

_COMMANDS = "set,get,incr,lpush,rpop,sadd,hset,zadd,mset,lrange_100"
_CALLS = re.compile(r"^cmdstat_(\S+):calls=(\d+)", re.MULTILINE)
# Asked often while something is waited for.
_UNCOUNTED = ("ping", "info")


@dataclass(frozen=True, slots=True)
class Redis:
    """It listens at `directory`/r, and nowhere else."""

    process: subprocess.Popen[bytes]
    directory: Path

    def ask(self, *words: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["redis-cli", "-s", str(self.directory / "r"), *words],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        return done.stdout

    @property
    def pid(self) -> int:
        """The server's own; `process` may be a shell around it."""
        found = re.search(r"^process_id:(\d+)", self.ask("info", "server"), re.MULTILINE)
        assert found
        return int(found[1])

    def load(self, requests: int) -> subprocess.Popen[bytes]:
        """Begin a benchmark that does the same each time."""
        sizes = ["-n", str(requests), "-c", "7", "-P", "3", "-d", "600"]
        command = ["redis-benchmark", "-s", str(self.directory / "r"), *sizes, "-t", _COMMANDS]
        return subprocess.Popen([*command, "-q"], stdout=subprocess.DEVNULL)

    def save(self) -> None:
        """Have a forked child write everything out."""
        assert "started" in self.ask("bgsave")
        until(self._has_saved, "the child is done")

    def _has_saved(self) -> bool:
        told = self.ask("info", "persistence")
        return "rdb_bgsave_in_progress:0" in told and "rdb_last_bgsave_status:ok" in told

    def replies(self) -> dict[str, str]:
        """What is stored, and how often each command was called."""
        questions = ["dbsize", "llen mylist", "get key:__rand_int__", "get counter:__rand_int__"]
        questions += ["scard myset", "hlen myhash", "zcard myzset", "lrange mylist 0 3"]
        questions += ["lastsave", 'eval \'return #redis.call("keys", "*")\' 0']
        said = {question: self.ask(stdin=question) for question in questions}
        assert int(said.pop("lastsave")) > 0
        counts = dict(_CALLS.findall(self.ask("info", "commandstats")))
        return said | {
            f"calls of {name}": n for name, n in counts.items() if name not in _UNCOUNTED
        }

    def descriptors(self) -> list[tuple[int, str]]:
        """Open ones, once no client is connected; what tells one run from another is left out."""
        found, place = [], Path(f"/proc/{self.pid}/fd")
        until(self._is_alone, "clients are gone")
        for entry in place.iterdir():
            target = re.sub(r":\[\d+\]", "", os.readlink(entry))
            found.append((int(entry.name), target.replace(str(self.directory), "")))
        return sorted(found)

    def _is_alone(self) -> bool:
        """Whether no socket has the server's name but the one that listens."""
        return Path("/proc/net/unix").read_text().count(f" {self.directory}/r\n") == 1

    def children(self) -> str:
        return Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()

    def end(self) -> int:
        self.ask("shutdown", "nosave")
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def redis(
    directory: Path, variables: Mapping[str, str] | None, prefix: Sequence[str] = ()
) -> Iterator[Redis]:
    """Under heapglass if there are variables for it. Its stderr is a file in the directory."""
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", **(variables or {})}
    preload = [] if variables is None else ["env", f"LD_PRELOAD={library()}"]
    command = ["redis-server", "--port", "0", "--unixsocket", str(directory / "r"), "--save", ""]
    command += ["--logfile", "server.log", "--dir", str(directory)]
    with (
        (directory / "stderr").open("wb") as stderr,
        subprocess.Popen(
            [*prefix, *preload, *command],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        ) as process,
    ):
        server = Redis(process, directory)
        try:
            until(lambda: server.ask("ping") == "PONG\n", "the server answers")
            yield server
        finally:
            if process.poll() is None:  # where a test failed; the server may be a shell's child
                server.ask("shutdown", "nosave")
            process.kill()
