"""docs/format.md against the schema, which another test compares with format.h."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from heapglass.recording import schema
from heapglass.recording.layout import Bytes, Layout, Numbers

_ROOT = Path(__file__).parents[3]
_DOC = (_ROOT / "docs" / "format.md").read_text()
_HEADER = (_ROOT / "native" / "include" / "format.h").read_text()
_TYPES = {"B": "u8", "H": "u16", "I": "u32", "Q": "u64", "q": "i64"}


def _c_name(layout: type[Layout]) -> str:
    return "hg" + re.sub(r"(?=[A-Z])", "_", layout.__name__).lower()


def _section(struct: str) -> str:
    """From the struct's heading to the next one."""
    found = re.search(rf"^### {struct}\n(.*?)(?=^##)", _DOC, re.DOTALL | re.MULTILINE)
    assert found, f"{struct} has no section"
    return found[1]


def _layouts() -> list[type[Layout]]:
    found = [c for c in vars(schema).values() if isinstance(c, type) and issubclass(c, Layout)]
    return [c for c in found if c.__module__ == schema.__name__]


def _rows(layout: type[Layout]) -> list[tuple[int, str, str]]:
    rows = []
    for name, field in layout.FIELDS.items():
        if field.nested:
            counts = {0: "[]", 1: ""}
            kind = _c_name(field.nested) + counts.get(field.count, f"[{field.count}]")
        else:
            kind = _TYPES[field.code]
            kind += f"[{field.count}]" if isinstance(field, Bytes | Numbers) else ""
        rows.append((field.offset, kind, name))
    return rows


@pytest.mark.parametrize("layout", _layouts(), ids=_c_name)
def test_every_field_is_explained(layout: type[Layout]) -> None:
    section = _section(_c_name(layout))
    rows = re.findall(r"^\| (\d+) \| (\S+) \| `(\w+)` \|", section, re.MULTILINE)
    assert [(int(offset), kind, name) for offset, kind, name in rows] == _rows(layout)


def test_every_struct_of_the_header_has_a_section() -> None:
    structs = re.findall(r"^struct (hg_\w+) \{", _HEADER, re.MULTILINE)
    assert sorted(structs) == sorted(_c_name(layout) for layout in _layouts())
    for struct in structs:
        assert _section(struct)


def _constants() -> list[str]:
    code = re.sub(r"/\*.*?\*/", "", _HEADER, flags=re.DOTALL)
    defines = re.findall(r"^#define (HG_\w+) \S", code, re.MULTILINE)
    return [*defines, *re.findall(r"(HG_\w+)\s*=\s*\d", code)]


def test_every_constant_is_explained() -> None:
    assert len(_constants()) > 80
    missing = [name for name in _constants() if not re.search(rf"\b{name}\b", _DOC)]
    assert not missing


def test_values_of_constants() -> None:
    """Where a value stands beside a name, as `| NAME | 3 |` or `NAME 3`, it is the right one."""
    values = {f"HG_{name}": value for name, value in vars(schema).items() if isinstance(value, int)}
    for prefix, names in {
        "HG_LOSS": schema.LOSSES,
        "HG_STAT": schema.STATS,
        "HG_REASON": schema.REASONS,
    }.items():
        values |= {f"{prefix}_{name.upper()}": n for n, name in enumerate(names)}
    stated = re.findall(r"\b(HG_\w+)(?: \| | is | )(0x[0-9a-f]+|\d+)\b(?!\^)", _DOC)
    assert len(stated) > 60
    for name, value in stated:
        assert int(value, 0) == values[name], name
