from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import heapglass
from heapglass.errors import LaunchError
from heapglass.launch.library import include_directory, library_path, preload_path


@pytest.fixture
def awkward(tmp_path: Path) -> Iterator[Path]:
    """A library in a directory that LD_PRELOAD cannot name, and no link left behind."""
    directory = tmp_path / "my project: heap"
    directory.mkdir()
    library = directory / "libheapglass.so"
    library.write_bytes(b"library")
    yield library
    shutil.rmtree(link_directory(library), ignore_errors=True)


def link_directory(library: Path) -> Path:
    return Path(f"/tmp/heapglass-{os.getuid()}-{library.stat().st_ino}")


def test_missing_library_is_explained(tmp_path: Path) -> None:
    for find in (library_path, include_directory):
        with pytest.raises(LaunchError, match=r"is missing: .*make setup") as caught:
            find(str(tmp_path))
        assert caught.value.exit_code == 125


def test_ordinary_path_is_taken_as_it_is() -> None:
    assert preload_path("/usr/lib/libheapglass.so") == "/usr/lib/libheapglass.so"


def test_awkward_path_gets_a_link(awkward: Path) -> None:
    link = preload_path(str(awkward))
    assert not re.search(r"[\s:]", link)
    assert Path(link).read_bytes() == b"library"
    assert preload_path(str(awkward)) == link


def test_link_follows_a_library_that_moved(awkward: Path) -> None:
    link = preload_path(str(awkward))
    moved = awkward.with_name("lib heapglass.so")
    awkward.rename(moved)
    assert preload_path(str(moved)) == link
    assert Path(link).read_bytes() == b"library"
    moved.rename(awkward)


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_link_is_not_put_where_others_may_write(awkward: Path, mode: int) -> None:
    directory = link_directory(awkward)
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(LaunchError, match="not ours alone"):
        preload_path(str(awkward))


def test_link_is_not_put_behind_anothers_link(awkward: Path, tmp_path: Path) -> None:
    directory = link_directory(awkward)
    directory.symlink_to(tmp_path)
    with pytest.raises(LaunchError, match="not ours alone"):
        preload_path(str(awkward))
    directory.unlink()


def test_header_and_package_have_one_version() -> None:
    header = (Path(include_directory()) / "heapglass.h").read_text()
    parts = [
        re.search(rf"#define HEAPGLASS_VERSION_{part} (\d+)", header)
        for part in ("MAJOR", "MINOR", "PATCH")
    ]
    assert ".".join(part[1] for part in parts if part) == heapglass.__version__
