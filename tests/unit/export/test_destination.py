"""The directory that an export of several tables makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from heapglass.errors import ExportError, UsageError
from heapglass.export.destination import check_directory, make_directory


def test_what_is_no_directory(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.touch()
    with pytest.raises(UsageError, match="is no directory"):
        check_directory(path)
    with pytest.raises(ExportError, match="cannot be made"):
        make_directory(path / "below")
    with pytest.raises(ExportError, match="cannot be made: No such file"):
        make_directory(tmp_path / "missing" / "below")
    assert not (tmp_path / "missing").exists()
