"""Which part of SOURCE@MOMENT is the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from heapglass.analysis.moments import Moment, MomentKind
from heapglass.cli.scope import split_moment
from heapglass.errors import UsageError


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("x", "host@there", "x@2s"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mark(name: str) -> Moment:
    return Moment(MomentKind.MARK, name=name)


@pytest.mark.usefixtures("directory")
@pytest.mark.parametrize(
    ("argument", "path", "moment"),
    [
        ("x", "x", None),
        ("x@peak", "x", Moment(MomentKind.PEAK)),
        ("x@loaded", "x", mark("loaded")),
        ("x@a@b", "x", mark("a@b")),
        ("x@@", "x", mark("@")),
        ("host@there", "host@there", None),
        ("host@there@a@b", "host@there", mark("a@b")),
        ("x@2s", "x@2s", None),
        ("x@2s@peak", "x@2s", Moment(MomentKind.PEAK)),
        ("gone@peak", "gone", Moment(MomentKind.PEAK)),
        ("gone@loaded", "gone@loaded", None),
        ("@peak", "@peak", None),
    ],
)
def test_the_longest_file_that_is_there(argument: str, path: str, moment: Moment | None) -> None:
    assert split_moment(argument) == (path, moment)


@pytest.mark.usefixtures("directory")
def test_a_moment_is_not_nothing() -> None:
    with pytest.raises(UsageError, match="'' is not a moment"):
        split_moment("x@")
