"""Stubs of the PLT are named after what they lead to."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from heapglass.model import FrameAddress
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import BIAS, build, module_of, run

STUB = re.compile(r"^([0-9a-f]+) <(\w+)@plt>:$", re.MULTILINE)
OPTIONS = [("-fcf-protection=none",), ("-fcf-protection=full", "-Wl,-z,ibtplt")]


@pytest.mark.parametrize("options", [*OPTIONS, ("-Wl,-z,now",), ("-no-pie",)])
@pytest.mark.parametrize("kind", ["whole", "stripped"])
def test_each_stub_has_the_name_that_objdump_gives_it(
    options: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    program = build("chain.c", tmp_path / "chain", *options)
    stubs = STUB.findall(run("objdump", "-d", program))
    assert {"malloc", "puts"} <= {name for _, name in stubs}
    if kind == "stripped":
        copy = tmp_path / "stripped"
        shutil.copy2(program, copy)
        run("strip", "--strip-all", copy)
        program = copy
    symbolizer = Symbolizer([module_of(program)], tmp_path / "cache")
    for start, name in stubs:
        for inside in (1, 6):
            address = FrameAddress(int(start, 16) + inside + BIAS, 0)
            (frame,) = symbolizer.frames(address)
            assert frame.function == f"{name}@plt"
