"""What is there already is kept unless the user says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from heapglass.cli.target import check_free
from heapglass.errors import UsageError


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out"
    check_free(path, is_forced=False)
    path.touch()
    with pytest.raises(UsageError, match="exists already: use --force"):
        check_free(path, is_forced=False)
    check_free(path, is_forced=True)
    with pytest.raises(UsageError, match="is a directory: name a file in it for --convert"):
        check_free(tmp_path, is_forced=True, option="--convert")
    check_free(Path("/dev/null"), is_forced=False)
