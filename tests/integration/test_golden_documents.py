"""JSON of older recordings is what it always was: documents gain keys, and change none.

tests/golden/documents has what `leaks`, `table` and `diff` say of recordings of format 4. To make
them anew: HEAPGLASS_REFRESH_GOLDEN=1 pytest tests/integration/test_golden_documents.py, then read
the diff. A refreshed run fails, so that it cannot pass for a check.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from harness.golden import NoNames, as_text, unpacked
from harness.programs import TESTS
from heapglass.analysis.moments import at_moment, parse_moment
from heapglass.recording import open_recording
from heapglass.views.diff import DiffQuery, Named, build_diff
from heapglass.views.json.diff import diff_document
from heapglass.views.json.documents import table_document
from heapglass.views.json.leaks import leaks_document
from heapglass.views.leaks import LeakQuery, build_leaks
from heapglass.views.selection import TableQuery
from heapglass.views.table import build_table

if TYPE_CHECKING:
    from heapglass.model import HeapSource

RECORDINGS = TESTS / "golden" / "format-4"
DOCUMENTS = TESTS / "golden" / "documents"
ROWS = 5
# Sentences may be put better; what they say is in other keys.
WORDS = ("caveats", "warnings")


def documents(source: HeapSource) -> dict[str, Any]:
    names = NoNames(source)
    before = Named(at_moment(source, parse_moment("peak")), names)
    difference = build_diff(before, Named(source, names), DiffQuery(limit=ROWS))
    made = {
        "leaks": leaks_document(source, build_leaks(source, names, LeakQuery(limit=ROWS))),
        "table": table_document(source, build_table(source, names, TableQuery(limit=ROWS))),
        "diff": diff_document(before, Named(source, names), difference),
    }
    return {
        f"{name}.{key}": value
        for name, document in made.items()
        for key, value in document.items()
        if key not in WORDS
    }


@pytest.mark.parametrize("name", ["parent", "child"])
def test_no_key_changes(name: str, tmp_path: Path) -> None:
    with open_recording(unpacked(RECORDINGS / f"{name}.heapglass.gz", tmp_path)) as source:
        found = documents(source)
    expected = DOCUMENTS / f"{name}.json"
    if os.environ.get("HEAPGLASS_REFRESH_GOLDEN"):
        expected.parent.mkdir(exist_ok=True)
        expected.write_text(as_text(found), encoding="utf-8")
        pytest.fail(f"{expected.name} was written anew")
    known = json.loads(expected.read_text(encoding="utf-8"))
    written = json.loads(as_text(found))
    assert as_text(without_new(written, known)) == expected.read_text(encoding="utf-8")


def without_new(found: Any, known: Any) -> Any:
    """What was found, without the keys that are not known."""
    if isinstance(found, dict) and isinstance(known, dict):
        return {key: without_new(found[key], known[key]) for key in found if key in known}
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        return [without_new(*pair) for pair in zip(found, known, strict=True)]
    return found
