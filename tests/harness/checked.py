"""The library built so that it walks every stack twice, once without any re-use, and compares."""

from __future__ import annotations

import fcntl
import functools
import subprocess
from dataclasses import replace

from harness.programs import TESTS
from harness.running import Setting, library, under_heapglass
from heapglass.model import HeapSource

_NATIVE = TESTS.parent / "native"
_BUILD = TESTS.parent / "build" / "checked-walks"


def checked(setting: Setting | None = None) -> Setting:
    """The same run with that library in the place of the ordinary one."""
    setting = setting or under_heapglass()
    ours, theirs = library(), checked_library()
    return replace(setting, preload=[theirs if p == ours else p for p in setting.preload])


@functools.cache
def checked_library() -> str:
    _BUILD.mkdir(parents=True, exist_ok=True)
    command = ["make", "-C", str(_NATIVE), "CFLAGS=-DHG_CHECK_WALKS"]
    places = [f"OUT={_BUILD}/out", f"BUILD={_BUILD}/objects"]
    with (_BUILD / "lock").open("w") as lock:
        # Several test processes may ask for it at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return str(_BUILD / "out" / "libheapglass.so")


def checks(source: HeapSource) -> tuple[int, int]:
    """Stacks that were walked twice, and how many of them came out differently."""
    stats = source.recorder.stats
    return stats["checked"], stats["mismatches"]
