"""Outputs that are whole or not there, and no more open than what they are made of."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from heapglass.errors import ExportError
from heapglass.files import PRIVATE, permissions_of, write_aside


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    mask = os.umask(0o022)
    yield
    os.umask(mask)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def made_with(path: Path, mode: int) -> Path:
    path.touch()
    path.chmod(mode)
    return path


def test_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with write_aside(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
        (unfinished,) = tmp_path.iterdir()
        assert mode_of(unfinished) == PRIVATE
    assert path.read_bytes() == b"half"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("mode", "made"), [(0o600, 0o600), (0o640, 0o640), (0o666, 0o644)])
def test_permissions_are_those_asked_for(tmp_path: Path, mode: int, made: int) -> None:
    """Less what the umask takes away; not those of a file that was there."""
    path = made_with(tmp_path / "out", 0o604)
    with write_aside(path, mode) as file:
        file.write(b"x")
    assert mode_of(path) == made


@pytest.mark.parametrize(
    ("modes", "permitted"),
    [
        ((0o600,), 0o600),
        ((0o644,), 0o644),
        ((0o755,), 0o644),
        ((0o400,), 0o600),
        ((0o644, 0o600), 0o600),
        ((0o640, 0o604), 0o600),
    ],
)
def test_what_is_made_of_files_permits_no_more(
    tmp_path: Path, modes: tuple[int, ...], permitted: int
) -> None:
    sources = [made_with(tmp_path / str(number), mode) for number, mode in enumerate(modes)]
    assert permissions_of(sources) == permitted
    assert permissions_of([*sources, tmp_path / "missing"]) == PRIVATE


@pytest.mark.parametrize("problem", [KeyboardInterrupt, ValueError, OSError])
def test_nothing_is_left_of_a_failure(tmp_path: Path, problem: type[BaseException]) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises((problem, ExportError)), write_aside(path):
        raise problem
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_full_disk_is_a_sentence() -> None:
    sentence = "/dev/full cannot be written: No space"
    with pytest.raises(ExportError, match=sentence), write_aside(Path("/dev/full")) as file:
        file.write(b"x")


def test_directory_that_is_not_there(tmp_path: Path) -> None:
    sentence = "cannot be written: No such file"
    with pytest.raises(ExportError, match=sentence), write_aside(tmp_path / "none" / "out"):
        pass
    with pytest.raises(ExportError, match="cannot be written: Is a directory"):
        write_aside(tmp_path).__enter__()
    with pytest.raises(ExportError, match="cannot be written"), write_aside(tmp_path / "a\0b"):
        pass


def test_a_device_stays_one() -> None:
    with write_aside(Path("/dev/null")) as file:
        file.write(b"x")
    assert not Path("/dev/null").is_file()
