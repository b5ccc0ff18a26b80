"""The library in test builds: one walks every stack twice, once without any re-use, and compares;
in the other every event takes the general way."""

from __future__ import annotations

import fcntl
import functools
import subprocess
from dataclasses import replace

from harness.programs import TESTS
from harness.running import Setting, library, under_heapglass
from heapglass.model import HeapSource

_NATIVE = TESTS.parent / "native"
_BUILDS = TESTS.parent / "build" / "test-builds"


def checked(setting: Setting | None = None) -> Setting:
    """The same run with the library that compares."""
    return _with_build("HG_CHECK_WALKS", setting)


def generally(setting: Setting | None = None) -> Setting:
    """The same run with the library that knows no short way."""
    return _with_build("HG_NO_SHORT_WAY", setting)


def _with_build(define: str, setting: Setting | None) -> Setting:
    setting = setting or under_heapglass()
    ours, theirs = library(), _build(define)
    return replace(setting, preload=[theirs if p == ours else p for p in setting.preload])


@functools.cache
def _build(define: str) -> str:
    build = _BUILDS / define
    build.mkdir(parents=True, exist_ok=True)
    command = ["make", "-C", str(_NATIVE), f"CFLAGS=-D{define}"]
    places = [f"OUT={build}/out", f"BUILD={build}/objects"]
    with (build / "lock").open("w") as lock:
        # Several test processes may ask for it at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return str(build / "out" / "libheapglass.so")


def checks(source: HeapSource) -> tuple[int, int]:
    """Stacks that were walked twice, and how many of them came out differently."""
    stats = source.recorder.stats
    return stats["checked"], stats["mismatches"]
