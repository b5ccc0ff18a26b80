"""Installs what the rivals and the real programs need: Debian packages, and memray from PyPI."""

from __future__ import annotations

import subprocess
import sys
import venv

from .places import BUILD, ROOT

PACKAGES = (
    "heaptrack",
    "libjemalloc2",
    "libgoogle-perftools4",
    "valgrind",
    "sqlite3",
    "perl",
    "libxml2-utils",
    "redis-server",
    "redis-tools",
    "g++",
)


def install() -> None:
    """Does nothing, quickly, for what is there. What cannot be had is said and left out."""
    install_packages()
    install_memray()


def install_packages() -> None:
    script = str(ROOT / "tools" / "install-packages.sh")
    if subprocess.run([script, *PACKAGES], check=False).returncode:
        for package in PACKAGES:  # one that cannot be had must not keep out the others
            subprocess.run([script, package], check=False, stderr=subprocess.DEVNULL)


def install_memray() -> None:
    home = BUILD / "memray"
    if (home / "installed").exists():
        return
    argv = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "memray"]
    try:
        venv.create(home, with_pip=True, clear=True)
        subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError):
        print("memray cannot be installed and is left out", file=sys.stderr)
    else:
        (home / "installed").touch()
