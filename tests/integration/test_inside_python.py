"""`heapglass.stats()` and the like, in Python programs that are recorded, and in others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import heapglass
from harness.running import library
from heapglass.recording import open_recording

SCRIPT = """
import dataclasses, json, heapglass
def ask():
    found = heapglass.stats()
    return found and dataclasses.asdict(found)
first = ask()
done = [heapglass.reset(), heapglass.snapshot()]
kept = [bytearray(100_000) for _ in range(10)]
middle = ask()
done.append(heapglass.pause())
more = bytearray(50_000_000)
done.append(heapglass.resume())
print(json.dumps([first, middle, ask(), done]))
"""


def answers(directory: Path, **environment: str) -> list[Any]:
    source = str(Path(heapglass.__file__).parent.parent)
    done = subprocess.run(
        [os.path.realpath(sys.executable), "-c", SCRIPT],
        cwd=directory,
        env={"PYTHONPATH": source, "HEAPGLASS_QUIET": "1", **environment},
        capture_output=True,
        check=True,
    )
    found: list[Any] = json.loads(done.stdout)
    return found


def test_a_recorded_program(tmp_path: Path) -> None:
    first, middle, last, done = answers(tmp_path, LD_PRELOAD=library())
    assert done == [True] * 4
    assert first["since_start"] == first["since_reset"]
    assert first["since_start"]["allocations"] > 1000
    since = middle["since_reset"]
    assert 1_000_000 <= since["requested"]["in_use"] < 1_300_000
    assert since["usable"]["in_use"] >= since["requested"]["in_use"]
    # The pause is not in the recording's own counts.
    grown = last["since_start"]["requested"]["allocated"]
    assert grown - middle["since_start"]["requested"]["allocated"] < 1_000_000
    assert last["since_reset"]["usable"]["peak"] > 50_000_000
    (path,) = tmp_path.glob("*.heapglass")
    with open_recording(path) as recording:
        assert len(list(recording.snapshots())) >= 2


def test_any_other_program(tmp_path: Path) -> None:
    assert answers(tmp_path) == [None, None, None, [False] * 4]
    assert heapglass.stats() is None
    assert not heapglass.mark("here")


def test_the_package_stays_light() -> None:
    code = (
        "import sys, heapglass; print('ctypes' in sys.modules, 'heapglass.inside' in sys.modules)"
    )
    source = str(Path(heapglass.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": source},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"False False\n"
