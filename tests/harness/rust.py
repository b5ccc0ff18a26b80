"""The Rust compiler that tests use."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess


@functools.cache
def rustc() -> str:
    """The first rustc on PATH that works; rustup's does not where its home is elsewhere."""
    tried = [os.path.join(directory, "rustc") for directory in os.get_exec_path()]
    for path in filter(shutil.which, tried):
        done = subprocess.run([path, "--version"], capture_output=True, check=False)
        if done.returncode == 0:
            return path
    raise FileNotFoundError(f"no rustc that works among {tried}")
