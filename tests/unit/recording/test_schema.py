"""schema.py against what a C compiler makes of format.h, both ways."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from heapglass.model import LossKind, Pseudo
from heapglass.recording import schema
from heapglass.recording.layout import Layout
from heapglass.recording.tables.columns import dtype_of

_HEADER = Path(__file__).parents[3] / "native" / "include" / "format.h"
_TEXT = re.sub(r"/\*.*?\*/", "", _HEADER.read_text(), flags=re.DOTALL)

# Enumerations that the schema has as tuples of names, and their last, counting member.
_TUPLES = {
    "hg_ladder": schema.LADDERS,
    "hg_reason": schema.REASONS,
    "hg_loss": schema.LOSSES,
    "hg_stat": schema.STATS,
}


def _structs() -> dict[str, list[str]]:
    """Struct name -> field names, as they stand in the header."""
    found = {}
    for name, body in re.findall(
        r"^struct (hg_\w+) \{\n(.*?)^\};", _TEXT, re.DOTALL | re.MULTILINE
    ):
        members = (
            re.sub(r"__attribute__\(\(.*?\)\)\s*(?=;)", "", line) for line in body.split("\n")
        )
        found[name] = re.findall(r"(\w+)\s*(?:\[\w*\])?\s*;", "\n".join(members))
    return found


def _enums() -> dict[str, list[str]]:
    return {
        name: re.findall(r"HG_\w+", re.sub(r"=[^,}]*", "", body))
        for name, body in re.findall(r"enum (hg_\w+) \{(.*?)\}", _TEXT, re.DOTALL)
    }


def _defines() -> list[str]:
    return re.findall(r"^#define (HG_\w+) \S", _TEXT, re.MULTILINE)


def _class_of(struct: str) -> type[Layout]:
    name = "".join(part.capitalize() for part in struct.removeprefix("hg_").split("_"))
    layout: type[Layout] = getattr(schema, name)
    return layout


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Every number a C program can tell about the header, by the expression that gives it."""
    wanted = [*_defines(), *(member for members in _enums().values() for member in members)]
    for struct, fields in _structs().items():
        wanted.append(f"sizeof(struct {struct})")
        for field in fields:
            wanted.append(f"offsetof(struct {struct}, {field})")
            if (struct, field) != ("hg_directory", "entries"):  # of no size of its own
                wanted.append(f"sizeof(((struct {struct} *)0)->{field})")
    prints = "\n".join(f'printf("%s\\t%llu\\n", "{e}", (unsigned long long)({e}));' for e in wanted)
    directory = tmp_path_factory.mktemp("schema")
    source = directory / "numbers.c"
    source.write_text(
        "#include <stddef.h>\n#include <stdio.h>\n#include <format.h>\n"
        f"int main(void) {{\n{prints}\nreturn 0;\n}}\n"
    )
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "a C compiler is needed"
    program = directory / "numbers"
    include = f"-I{_HEADER.parent}"
    subprocess.run([compiler, "-std=c11", include, source, "-o", program], check=True)
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    return {name: int(number) for name, number in (x.split("\t") for x in output.splitlines())}


def test_the_header_is_understood() -> None:
    assert len(_structs()) == len(re.findall(r"^struct hg_\w+ \{", _TEXT, re.MULTILINE)) == 25
    assert len(_enums()) == len(re.findall(r"^enum hg_\w+ \{", _TEXT, re.MULTILINE)) == 15
    # As many names as there are declarations: none was overlooked by the regular expressions.
    bodies = re.findall(r"^struct hg_\w+ \{\n(.*?)^\};", _TEXT, re.DOTALL | re.MULTILINE)
    assert sum(map(len, _structs().values())) == sum(body.count(";") for body in bodies)


@pytest.mark.parametrize("struct", _structs())
def test_struct(struct: str, compiled: dict[str, int]) -> None:
    layout = _class_of(struct)
    assert list(layout.FIELDS) == _structs()[struct]
    assert compiled[f"sizeof(struct {struct})"] == layout.SIZE
    for name, field in layout.FIELDS.items():
        assert field.offset == compiled[f"offsetof(struct {struct}, {name})"], name
        if field.size:
            assert field.size == compiled[f"sizeof(((struct {struct} *)0)->{name})"], name


@pytest.mark.parametrize("struct", _structs())
def test_dtype(struct: str) -> None:
    layout = _class_of(struct)
    dtype = dtype_of(layout)
    assert dtype.itemsize == layout.SIZE
    assert dtype.fields
    for name, field in layout.FIELDS.items():
        if field.size:
            base, offset = dtype.fields[name][:2]
            assert (offset, base.itemsize) == (field.offset, field.size), name


def test_signedness() -> None:
    """What C says about signs: int64_t fields, and only they, are signed in the schema."""
    for struct, body in re.findall(
        r"^struct (hg_\w+) \{\n(.*?)^\};", _TEXT, re.DOTALL | re.MULTILINE
    ):
        signed = set(re.findall(r"^\s*int64_t (\w+)", body, re.MULTILINE))
        fields = _class_of(struct).FIELDS.items()
        assert {name for name, field in fields if field.code == "q"} == signed
    assert dtype_of(schema.Counters)["saved_bytes"] == np.dtype("<i8")


def test_no_struct_too_many() -> None:
    ours = {c for c in vars(schema).values() if isinstance(c, type) and issubclass(c, Layout)}
    assert {_class_of(struct) for struct in _structs()} == {
        c for c in ours if c.__module__ == schema.__name__
    }


def test_constants(compiled: dict[str, int]) -> None:
    tupled = {member for name in _TUPLES for member in _enums()[name]}
    counts = {"HG_LOSS_COUNT", "HG_STAT_COUNT"}
    members = {member for members in _enums().values() for member in members}
    in_c = {*_defines(), *members} - (tupled - counts)
    ladder = {f"HG_LADDER_{name.upper()}" for name in schema.LADDERS}
    in_schema = {name: v for name, v in vars(schema).items() if isinstance(v, int)}
    assert {f"HG_{name}" for name in in_schema} == in_c | ladder
    for name, value in in_schema.items():
        assert value == compiled[f"HG_{name}"], name


@pytest.mark.parametrize("enum", _TUPLES)
def test_names_in_order(enum: str, compiled: dict[str, int]) -> None:
    prefix = enum.upper()
    expected = [f"{prefix}_{name.upper()}" for name in _TUPLES[enum]]
    assert [m for m in _enums()[enum] if not m.endswith("_COUNT")] == expected
    assert [compiled[name] for name in expected] == list(range(len(expected)))


def test_the_model_has_the_same_names() -> None:
    assert [kind.value for kind in LossKind] == list(schema.LOSSES)
    for pseudo in Pseudo:
        assert getattr(schema, f"PSEUDO_{pseudo.name}") == pseudo.value
    assert len(Pseudo) == len(_enums()["hg_pseudo"])
