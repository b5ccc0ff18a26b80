"""Build hook: compiles the native library and puts it into the wheel.

The library is plain C without Python.h, so one wheel per platform serves every Python 3: its tag
is py3-none-<platform>. An editable install leaves the library beside the sources instead, where
the package looks for it either way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

IN_PACKAGE = "heapglass/_native"


class NativeLibrary(BuildHookInterface):  # type: ignore[type-arg]
    """Runs native/Makefile; `version` is "standard" for a wheel, "editable" for a link to src."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        if version == "editable":
            self._make(Path(self.root, "src", IN_PACKAGE), Path(self.root, "build/native"))
            return
        # A wheel is built from nothing: objects lying about may be another machine's.
        self._scratch = Path(tempfile.mkdtemp(prefix="heapglass-"))
        out = self._scratch / "out"
        self._make(out, self._scratch / "objects")
        for file in ("libheapglass.so", "include/heapglass.h", "include/format.h"):
            build_data["force_include"][str(out / file)] = f"{IN_PACKAGE}/{file}"

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        if version != "editable":
            shutil.rmtree(self._scratch, ignore_errors=True)

    def _make(self, out: Path, build: Path) -> None:
        jobs = os.cpu_count() or 1
        native = Path(self.root, "native")
        command = ["make", "-C", str(native), f"-j{jobs}", f"OUT={out}", f"BUILD={build}"]
        try:
            done = subprocess.run(command, text=True, capture_output=True, check=False)
        except FileNotFoundError:
            raise SystemExit("heapglass: make is needed to build the native library") from None
        if done.returncode:
            raise SystemExit(f"heapglass: the native library does not build\n{done.stderr}")
