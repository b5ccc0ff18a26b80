"""Outputs that are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heapglass.errors import ExportError, UsageError
from heapglass.export.destination import check_directory, check_file, make_directory, open_file


def test_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with open_file(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_of_a_failure(tmp_path: Path, problem: type[BaseException]) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(problem), open_file(path):
        raise problem
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_is_a_sentence() -> None:
    sentence = "/dev/full cannot be written: No space"
    with pytest.raises(ExportError, match=sentence), open_file(Path("/dev/full")) as file:
        file.write(b"x")


def test_directory_that_is_not_there(tmp_path: Path) -> None:
    sentence = "cannot be written: No such file"
    with pytest.raises(ExportError, match=sentence), open_file(tmp_path / "none" / "out"):
        pass


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    check_file(path, is_forced=False)
    path.touch()
    with pytest.raises(UsageError, match="exists already: use --force"):
        check_file(path, is_forced=False)
    check_file(path, is_forced=True)
    with pytest.raises(UsageError, match="is a directory"):
        check_file(tmp_path, is_forced=True)
    with pytest.raises(UsageError, match="is no directory"):
        check_directory(path)
    with pytest.raises(ExportError, match="cannot be made"):
        make_directory(path / "below")
    with pytest.raises(ExportError, match="cannot be made: No such file"):
        make_directory(tmp_path / "missing" / "below")
    assert not (tmp_path / "missing").exists()
    check_file(Path("/dev/null"), is_forced=False)
