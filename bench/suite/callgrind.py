"""Runs a program under callgrind and reads how many instructions each part of it executed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAMED = re.compile(r"(ob|fl|fi|fe|fn|calls)=(?:\((\d+)\))? ?(.*)")
COST = re.compile(r"[+*\-\d]\S* (\d+)")
REDIRECTED = "--soname-synonyms=somalloc=nouserintercepts"  # or valgrind replaces malloc itself


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions of the whole run, and those in one library by source file."""

    total: int
    files: Mapping[str, int]


def count(argv: Sequence[str], env: Mapping[str, str], library: str, directory: Path) -> Counts:
    out = directory / "callgrind"
    valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
    done = subprocess.run(
        [*valgrind, REDIRECTED, *argv],
        env=dict(env) | {"PATH": "/usr/bin:/bin"},
        cwd=directory,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{argv[0]} failed under valgrind with {done.returncode}:\n{done.stderr[-2000:]}")
    return read_counts(out.read_text(), library)


def read_counts(text: str, library: str) -> Counts:
    """Sums the costs a line has of its own; those of a call are its callee's already.

    Names are given once as "(12) name" and then as "(12)"; objects and files count apart.
    """
    names: dict[tuple[str, str], str] = {}
    current = {"ob": "", "fl": ""}
    files: Counter[str] = Counter()
    total = 0
    is_call = False
    for line in text.splitlines():
        if named := NAMED.fullmatch(line.removeprefix("c") if line[:2] in {"cf", "co"} else line):
            kind, number, name = named.groups()
            is_call = is_call or kind == "calls"
            kind = "fl" if kind in {"fi", "fe"} else kind
            if number and name:
                names[kind, number] = name
            if kind in current and not line.startswith("c"):
                current[kind] = names.get((kind, number or ""), name)
        elif cost := COST.fullmatch(line):
            if not is_call:
                total += int(cost[1])
                if current["ob"].endswith(library):
                    files[Path(current["fl"]).stem] += int(cost[1])
            is_call = False
    return Counts(total, files)
