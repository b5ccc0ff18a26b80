"""Packed recordings of every version are read as they always were.

tests/golden/packed-N has files of version N and, beside each, all that is read from it. To make
those of the current version anew: HEAPGLASS_REFRESH_GOLDEN=1 pytest
tests/integration/test_golden_packed.py, then read the diff. A refreshed run fails, so that it
cannot pass for a check. Files of older versions are never made again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.golden import as_text, packed_contents, record_packed
from harness.programs import TESTS
from heapglass.packfile.container import VERSION

GOLDEN = TESTS / "golden"
FILES = sorted(GOLDEN.glob("packed-*/*.packed"))


@pytest.fixture(scope="module", autouse=True)
def _refreshed() -> None:
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        record_packed(GOLDEN / f"packed-{VERSION}")


def test_every_version_is_here() -> None:
    expected = {f"packed-{number}" for number in range(1, VERSION + 1)}
    assert {path.parent.name for path in FILES} == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_everything_reads_as_before(path: Path) -> None:
    text = as_text(packed_contents(path))
    expected = path.with_suffix(".json")
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        expected.write_text(text, encoding="utf-8")
        pytest.fail(f"{expected.name} was written anew")
    assert text == expected.read_text(encoding="utf-8")


def test_names_and_inlined_functions_are_in_them() -> None:
    plain = as_text(packed_contents(GOLDEN / f"packed-{VERSION}" / "plain.packed"))
    redacted = as_text(packed_contents(GOLDEN / f"packed-{VERSION}" / "redacted.packed"))
    for name in ("leaf", "middle", "chain.c", "hidden"):
        assert name in plain
        assert name not in redacted
