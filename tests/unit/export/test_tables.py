"""The tables: what docs/tables.md says of them, and that all formats hold the same."""

from __future__ import annotations

import csv as csv_module
import io
import json as json_module
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from heapglass.analysis.filters import parse_filter
from heapglass.errors import RecordingError
from heapglass.export import csv, json, parquet
from heapglass.export.making import TABLES
from heapglass.export.table import Table
from unit.export import sample

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"
_KINDS = {"i": "INT64", "f": "DOUBLE", "b": "BOOLEAN", "O": "TEXT"}


def documented() -> dict[str, dict[str, str]]:
    """Table → column → type."""
    found: dict[str, dict[str, str]] = {}
    for section in DOCS.read_text().split("\n## ")[1:]:
        if match := re.match(r"`(\w+)`\n", section):
            rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", section, re.MULTILINE)
            found[match[1]] = dict(rows)
    return found


def made(name: str) -> Table:
    return TABLES[name](sample.extract())


@pytest.mark.parametrize("source", [sample.heap(), sample.heap(made_of=()), sample.sampled_heap()])
def test_columns_are_as_documented(source: sample.History) -> None:
    documents = documented()
    assert set(documents) == set(TABLES)
    for name, make in TABLES.items():
        columns = make(sample.extract(source)).columns
        kinds = {column: _KINDS[values.dtype.kind] for column, values in columns.items()}
        assert kinds == documents[name], name
        assert all(values.dtype.itemsize == 8 for values in columns.values() if values.dtype != "?")


def test_sites_and_their_stacks() -> None:
    sites, stacks, frames = made("sites"), made("stacks"), made("frames")
    rows = {row["id"]: row for row in sites.rows()}
    assert rows[2]["function"] == "fill"
    assert rows[2]["depth"] == 3
    assert (rows[2]["live_bytes"], rows[2]["peak_bytes"], rows[2]["cut"]) == (600, 700, "")
    assert (rows[5]["cut"], rows[6]["function"], rows[6]["depth"]) == ("depth", "", 0)
    by_id = {row["id"]: row for row in frames.rows()}
    on_it = [row for row in stacks.rows() if row["site"] == 2]
    assert [row["depth"] for row in on_it] == [0, 1, 2]
    names = [by_id[row["frame"]]["function"] for row in on_it]
    assert names == ["std::vector<int>::grow(int)", "fill", "main"]
    assert [by_id[row["frame"]]["is_inlined"] for row in on_it] == [True, False, False]
    assert {row["build_id"] for row in by_id.values()} == {"ab12"}
    assert rows[4]["function"] == 'a;b"#\n\\udcff{closure#0}'


def test_snapshots_have_what_changed() -> None:
    rows = [tuple(row.values())[:7] for row in made("snapshots").rows()]
    second = 10**9
    assert rows == [
        (0, second, 2, 5, 500, 6, 600),
        (0, second, 3, 1, 10, 1, 10),
        (1, 2 * second, 3, 0, 0, 5, 50),
        (1, 2 * second, 4, 3, 30_000, 3, 30_000),
    ]


def test_snapshots_of_samples_have_errors() -> None:
    first, *_ = TABLES["snapshots"](sample.extract(sample.sampled_heap())).rows()
    errors = {name: value for name, value in first.items() if name.endswith("_error")}
    assert errors == {
        "live_blocks_error": 0.5,
        "live_bytes_error": 50,
        "allocations_error": 0.6,
        "bytes_allocated_error": 60,
    }
    assert not any(row["live_bytes_error"] for row in made("snapshots").rows())


def test_marks_in_order() -> None:
    rows = [tuple(row.values()) for row in made("marks").rows()]
    assert rows == [(10**9, "loaded"), (2 * 10**9, "done")]


def test_filtered_tables_have_the_chosen_sites_only() -> None:
    extract = sample.extract(filters=(parse_filter("grow"),))
    assert TABLES["sites"](extract).columns["id"].tolist() == [2]
    assert set(TABLES["stacks"](extract).columns["site"].tolist()) == {2}
    assert TABLES["blocks"](extract).columns["site"].tolist() == [2]
    assert set(TABLES["snapshots"](extract).columns["site"].tolist()) == {2}
    assert len(TABLES["frames"](extract)) == 3
    assert len(TABLES["timeline"](extract)) == 3


def test_addresses_of_the_upper_half_are_negative() -> None:
    assert made("blocks").columns["address"].tolist() == [0x1000, 0x2000, -0x1000]


def test_estimates_carry_their_errors() -> None:
    table = TABLES["sites"](sample.extract(sample.sampled_heap()))
    assert all(table.columns["samples"] == 2)
    assert any(table.columns["live_bytes_error"] > 0)
    caveats = TABLES["caveats"](sample.extract(sample.sampled_heap()))
    assert any("Sampled" in row["sentence"] for row in caveats.rows())


@pytest.mark.parametrize("name", TABLES)
def test_parquet_comes_back(name: str) -> None:
    """Read by another library than the one that wrote it."""
    out = io.BytesIO()
    parquet.write_table(made(name), out)
    out.seek(0)
    file = pq.ParquetFile(out)
    kinds = {column.name: column.physical_type for column in file.schema}
    expected = {"INT64": "INT64", "DOUBLE": "DOUBLE", "BOOLEAN": "BOOLEAN", "TEXT": "BYTE_ARRAY"}
    assert kinds == {column: expected[kind] for column, kind in documented()[name].items()}
    assert file.read().to_pylist() == list(made(name).rows())


def test_empty_parquet_keeps_its_types() -> None:
    out = io.BytesIO()
    parquet.write_table(TABLES["sites"](sample.extract(sample.heap(made_of=()))), out)
    out.seek(0)
    types = {str(field.type) for field in pq.read_table(out).schema}
    assert types == {"int64", "double", "string"}


@pytest.mark.parametrize("name", TABLES)
def test_csv_comes_back(name: str) -> None:
    out = io.BytesIO()
    csv.write_table(made(name), out)
    assert not out.closed
    rows = list(csv_module.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    assert rows == [
        {column: _cell(value) for column, value in row.items()} for row in made(name).rows()
    ]


def _cell(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_json_holds_all_tables() -> None:
    out = io.BytesIO()
    json.write(sample.extract(), out)
    document = json_module.loads(out.getvalue())
    assert document.pop("schema") == "heapglass.export/1"
    assert document == {name: list(made(name).rows()) for name in TABLES}


def test_how_tables_show_themselves() -> None:
    losses, sites = made("losses"), made("sites")
    assert repr(losses) == "<Losses: 0 rows of kind, events>"
    assert repr(made("caveats").take(np.arange(0))) == "<Caveats: 0 rows of sentence>"
    assert repr(sites).startswith("<Sites: 5 rows of id, allocations, ")
    html = sites._repr_html_()
    assert html.count("<tr>") == 6
    assert "std::vector&lt;int&gt;" not in html  # of the responsible functions only
    assert "a;b&quot;#" in html
    many = sites.take(np.zeros(1000, np.int64))._repr_html_()
    assert many.endswith("</table><p>and 980 more</p>")


@pytest.mark.parametrize("name", TABLES)
def test_data_frames_are_equal(name: str) -> None:
    table = made(name)
    rows = list(table.rows())
    assert table.to_pandas().to_dict("records") == rows
    assert table.to_polars().to_dicts() == rows
    assert table.to_arrow().to_pylist() == rows
    assert table.take(np.arange(len(table))[:1]).to_polars().to_dicts() == rows[:1]


def test_numbers_that_cannot_be_true_are_refused() -> None:
    """Only a damaged file has them."""
    damaged = sample.extract(sample.heap(peak_error_bytes=1 << 63))
    with pytest.raises(RecordingError, match="too large to be true"):
        TABLES["totals"](damaged)
