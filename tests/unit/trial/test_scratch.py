from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from heapglass.errors import HeapglassError
from heapglass.trial import scratch
from heapglass.trial.scratch import repeatable_input, scratch_directory


@pytest.fixture
def stdin() -> Iterator[None]:
    """Whatever a test makes descriptor 0 is undone."""
    kept = os.dup(0)
    yield
    os.dup2(kept, 0)
    os.close(kept)


def become(descriptor: int) -> None:
    os.dup2(descriptor, 0)
    os.close(descriptor)


def pipe_with(data: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, data)
    os.close(writer)
    become(reader)


def test_the_directory_is_gone_whatever_happens() -> None:
    places = []

    def interrupted() -> None:
        with scratch_directory() as path:
            places.append(path)
            (path / "file").write_text("left")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not places[0].exists()


@pytest.mark.usefixtures("stdin")
def test_a_pipe_is_kept(tmp_path: Path) -> None:
    pipe_with(b"two\nlines\n")
    name, offset = repeatable_input(tmp_path)
    assert (Path(name).read_bytes(), offset) == (b"two\nlines\n", 0)


@pytest.mark.usefixtures("stdin")
def test_a_pipe_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "MOST_INPUT", 4)
    pipe_with(b"12345")
    with pytest.raises(HeapglassError, match="put it into a file"):
        repeatable_input(tmp_path)


@pytest.mark.usefixtures("stdin")
def test_a_file_is_read_from_where_it_stands(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"header\nbody\n")
    descriptor = os.open(tmp_path / "input", os.O_RDONLY)
    os.lseek(descriptor, 7, os.SEEK_SET)
    become(descriptor)
    name, offset = repeatable_input(tmp_path)
    assert (Path(name).read_bytes()[offset:], offset) == (b"body\n", 7)


@pytest.mark.usefixtures("stdin")
def test_a_terminal_has_nothing_to_say(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    become(follower)
    assert repeatable_input(tmp_path) == (os.devnull, 0)
    os.close(leader)
