"""A function and its place in the source, as found for one address of a file."""

from __future__ import annotations

from typing import NamedTuple


class Location(NamedTuple):
    """Names are raw where they come out of a file, readable once `ModuleNames` gave them."""

    name: str
    file: str = ""
    line: int = 0
