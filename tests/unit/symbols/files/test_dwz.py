"""Names that dwz moved into a shared file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from heapglass.model import FrameAddress
from heapglass.symbols.files import dwz
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import BIAS, module_of, return_addresses, run

Frames = list[list[tuple[str, str, int]]]


@pytest.fixture
def shared(shapes: Path, tmp_path: Path) -> Path:
    """The program with part of its debug information in a file that a twin uses as well."""
    one, two = tmp_path / "one", tmp_path / "two"
    shutil.copy2(shapes, one)
    shutil.copy2(shapes, two)
    run("dwz", "-m", tmp_path / "shared.debug", one, two)
    return one


def named(program: Path, cache: Path) -> tuple[Frames, list[str]]:
    symbolizer = Symbolizer([module_of(program)], cache)
    addresses = [FrameAddress(a + BIAS, 0) for a in return_addresses(program)]
    found = symbolizer.resolve(addresses)
    frames = [[(f.function, f.file, f.line) for f in found[address]] for address in addresses]
    return frames, symbolizer.warnings


def test_names_are_those_of_the_whole_file_or_missing(
    shapes: Path, shared: Path, tmp_path: Path
) -> None:
    expected, _ = named(shapes, tmp_path / "cache")
    found, _ = named(shared, tmp_path / "cache")
    compared = [
        (ours, theirs)
        for one, other in zip(found, expected, strict=True)
        for ours, theirs in zip(one, other, strict=True)
    ]
    assert all(ours[1:] == theirs[1:] for ours, theirs in compared)
    assert all(ours[0] in (theirs[0], "") for ours, theirs in compared)
    missing = sum(not ours[0] and bool(theirs[0]) for ours, theirs in compared)
    # A function inlined into itself looks like what addr2line gets wrong, and stays without name.
    assert missing <= len(compared) // 4


@pytest.mark.parametrize("what", ["shared file", "addr2line"])
def test_what_is_missing_is_said(
    what: str, shapes: Path, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if what == "shared file":
        (tmp_path / "shared.debug").unlink()
    else:
        monkeypatch.setattr(dwz, "find_tool", lambda *_: "")
    expected, _ = named(shapes, tmp_path / "cache")
    found, warnings = named(shared, tmp_path / "cache")
    for ours, theirs in zip(found, expected, strict=True):
        assert [frame[1:] for frame in ours] == [frame[1:] for frame in theirs]
        assert all(mine[0] in (their[0], "") for mine, their in zip(ours, theirs, strict=True))
    (warning,) = warnings
    assert "dwz" in warning
