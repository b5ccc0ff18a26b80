"""The bench every behaviour test works at."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
