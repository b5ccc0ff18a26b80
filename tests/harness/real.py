"""Real programs: the shell scripts of tests/programs/real and the files they work on."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace
from pathlib import Path

from harness.bench import Bench
from harness.programs import SOURCES
from harness.running import Outcome, Setting, run

# Which executables must have been recorded, at least.
RECORDED = {
    "sqlite3": ["sqlite3"],
    "python3": ["python3"],
    "python3_malloc": ["python3"],
    "perl": ["perl"],
    "gcc": ["cc1", "as", "ld", "program"],
    "git": ["git"],
    "redis": ["redis-check-rdb", "redis-cli"],
    "xz": ["xz", "cksum"],
    "xmllint": ["xmllint"],
    "sort": ["sort", "uniq"],
    "shell": ["sort", "find", "tar", "awk"],
}


def prepare(directory: Path) -> None:
    """Put the scripts there, and words to work on, the same each time."""
    shutil.copytree(SOURCES / "real", directory, dirs_exist_ok=True)
    chance = random.Random(1)  # noqa: S311
    words = ["".join(chance.choices("abcdefghij", k=chance.randint(1, 4))) for _ in range(20_000)]
    lines = (" ".join(words[i : i + 10]) for i in range(0, len(words), 10))
    (directory / "words.txt").write_text("\n".join(lines) + "\n")
    items = "".join(f'<item n="{i}"><name>{w}</name></item>' for i, w in enumerate(words[:1000]))
    (directory / "tree.xml").write_text(f"<root>{items}</root>")


def perform(bench: Bench, name: str, setting: Setting) -> tuple[Outcome, Path, Path]:
    """What came of it, the directory it worked in and the one with its recordings.

    Two directories, because some of these programs read everything that lies around.
    """
    directory, recordings = bench.fresh("real"), bench.fresh("rec")
    prepare(directory)
    out = {"HEAPGLASS_OUT": str(recordings / "%e.%p.heapglass")}
    setting = replace(setting, environment={**setting.environment, **out})
    return run(["sh", f"{name}.sh"], directory, setting), directory, recordings
