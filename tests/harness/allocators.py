"""Other allocators the tests put below us."""

from __future__ import annotations

import subprocess

_SONAMES = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4"}


def allocators() -> dict[str, str]:
    """Name and path of each; all of them must be installed."""
    command = ["/sbin/ldconfig", "-p"]
    cache = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    paths = {line.split()[0]: line.split()[-1] for line in cache.splitlines() if "=>" in line}
    return {name: paths[soname] for name, soname in _SONAMES.items()}
