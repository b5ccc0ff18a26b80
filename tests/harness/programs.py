"""The programs of tests/programs: what their opening comments ask for, and their binaries.

A source opens with a comment that may hold lines of the form `word: ...`:

    build:        more compiler arguments; {name} stands for the binary of another program
    case:         arguments of one run, several such lines make several runs
    environment:  NAME=value settings of the run under heapglass
    needs:        root, if the program does what only root may
    losses:       kind=events the recording must state; any other loss is a failure
    expect:       site counter=value ... that the recording must show, see `counters.py`

Binaries are kept in build/ under a name that changes with everything that went into them.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.rust import rustc

TESTS = Path(__file__).resolve().parent.parent
SOURCES = TESTS / "programs"
BUILD = TESTS.parent / "build" / "test-programs"

_FLAGS = "-O2 -g -Wall -Wextra -Werror -fno-builtin -D_GNU_SOURCE"
_COMPILERS = {
    ".c": f"gcc -std=gnu11 {_FLAGS}",
    ".cpp": f"g++ {_FLAGS}",
    ".f90": "gfortran -O2 -g -J{scratch}",
    ".rs": "rustc -O -g -D warnings",
}
_DIRECTIVE = re.compile(
    r"^(?:/\*| \*|!|//!) *(build|case|environment|needs|losses|expect): (.+?)(?: \*/)?$"
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """What one site must count."""

    site: str
    counters: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    source: Path
    build: tuple[str, ...]
    cases: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    needs_root: bool
    losses: Mapping[str, int]
    expectations: tuple[Expectation, ...]

    def path(self) -> str:
        """The binary, compiled when there is none of this source yet."""
        return str(_binary(self.source, self.build))

    def argv(self, case: tuple[str, ...] = ()) -> list[str]:
        return [self.path(), *_resolved(case)]


@functools.cache
def program(name: str) -> Program:
    source = next(p for p in sorted(SOURCES.iterdir()) if p.stem == name and p.suffix != ".h")
    found: dict[str, list[list[str]]] = {}
    for line in source.read_text().splitlines():
        if match := _DIRECTIVE.match(line):
            found.setdefault(match[1], []).append(match[2].split())
    return Program(
        name=name,
        source=source,
        build=tuple(word for words in found.get("build", []) for word in words),
        cases=tuple(tuple(words) for words in found.get("case", [[]])),
        environment=_pairs(found.get("environment", [])),
        needs_root="needs" in found,
        losses={k: int(v) for k, v in _pairs(found.get("losses", [])).items()},
        expectations=tuple(_expectation(words) for words in found.get("expect", [])),
    )


def programs_with_expectations() -> list[Program]:
    names = sorted(p.stem for p in SOURCES.iterdir() if p.suffix in _COMPILERS)
    return [p for p in map(program, names) if p.expectations]


def compiled(source: Path, *arguments: str) -> str:
    """The binary of a source that is no program of tests/programs."""
    return str(_binary(source, arguments))


def _pairs(lines: list[list[str]]) -> dict[str, str]:
    words = (word for line in lines for word in line)
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _expectation(words: list[str]) -> Expectation:
    return Expectation(words[0], {k: int(v) for k, v in _pairs([words[1:]]).items()})


def _resolved(words: tuple[str, ...]) -> list[str]:
    """The words, {name} replaced by the binary of that program."""
    return [re.sub(r"\{(\w+)\}", lambda match: program(match[1]).path(), word) for word in words]


@functools.cache
def _binary(source: Path, build: tuple[str, ...]) -> Path:
    command = [*_compiler(source.suffix), str(source), *_resolved(build)]
    header = (SOURCES / "site.h").read_text()
    parts = [source.read_text(), header, *command[:-1], _compiler_version(command[0])]
    digest = hashlib.sha256("\0".join([*parts, command[-1]]).encode()).hexdigest()[:12]
    binary = BUILD / f"{source.stem}-{digest}"
    if not binary.exists():
        _compile(command, binary)
    return binary


def _compiler(suffix: str) -> list[str]:
    words = _COMPILERS[suffix].split()
    return [rustc(), *words[1:]] if words[0] == "rustc" else words


@functools.cache
def _compiler_version(compiler: str) -> str:
    return subprocess.run(
        [compiler, "--version"], check=True, capture_output=True, text=True
    ).stdout


def _compile(command: list[str], binary: Path) -> None:
    """Compile beside the binary, then put it there. Several test processes may do so at once; the
    first binary stays, as a later one would not be the file that was recorded."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as scratch:
        fresh = Path(scratch) / binary.name
        words = [word.replace("{scratch}", scratch) for word in command]
        done = subprocess.run([*words, "-o", fresh], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stderr}"
        with contextlib.suppress(FileExistsError):
            os.link(fresh, binary)
