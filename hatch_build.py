"""Build hook: compiles the native library and its driver, makes the man pages (tools/manual.py),
and puts them into the wheel.

The library is plain C without Python.h, so one wheel per platform serves every Python 3: its tag
is py3-none-<platform>. An editable install leaves the library beside the sources instead, where
the package looks for it either way.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_PACKAGE = "heapglass/_native"
HEADERS = ("include/heapglass.h", "include/format.h", "include/malloc-stat/api.h")


class NativeLibrary(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the library; `version` is "standard" for a wheel, "editable" for a link to src."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        if version == "editable":
            self._build(Path(self.root, "src", IN_PACKAGE), Path(self.root, "build/native"))
            return
        # A wheel is built from nothing: objects lying about may be another machine's.
        self._scratch = Path(tempfile.mkdtemp(prefix="heapglass-"))
        out = self._scratch / "out"
        self._build(out, self._scratch / "objects")
        for file in ("libheapglass.so", "driver", *HEADERS):
            build_data["force_include"][str(out / file)] = f"{IN_PACKAGE}/{file}"
        manual = runpy.run_path(str(Path(self.root, "tools/manual.py")))
        for page in manual["write_pages"](Path(self.root), self._scratch / "manual"):
            build_data["shared_data"][str(page)] = f"share/man/man1/{page.name}"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _build(self, out: Path, build: Path) -> None:
        native = Path(self.root, "native")
        if shutil.which("make"):
            jobs = os.cpu_count() or 1
            _run(["make", "-C", str(native), f"-j{jobs}", f"OUT={out}", f"BUILD={build}"], native)
        else:
            _compile(native, out)


def _compile(native: Path, out: Path) -> None:
    """All at once, for machines with a compiler only; native/Makefile does the same in steps."""
    compilers = [os.environ.get("CC", ""), "cc", "gcc", "clang"]
    compiler = next((name for name in compilers if name and shutil.which(name)), None)
    if compiler is None:
        raise SystemExit("heapglass: no C compiler found: install gcc, or name one with CC=")
    sources = [str(path) for path in sorted(native.glob("src/**/*.[cS]"))]
    out.mkdir(parents=True, exist_ok=True)
    target = ["-o", str(out / "libheapglass.so")]
    prefix = f"-ffile-prefix-map={native}=native"
    _run([compiler, "@compile.flags", prefix, *sources, "@link.flags", *target], native)
    driver = [str(path) for path in sorted(native.glob("driver/*.c"))]
    target = ["-fno-builtin", "-pie", "-o", str(out / "driver")]
    _run([compiler, "@compile.flags", prefix, *driver, *target], native)
    for header in HEADERS:
        (out / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(native / header, out / header)


def _run(command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, text=True, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"heapglass: the native library does not build\n{done.stderr}")
