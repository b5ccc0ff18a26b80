"""What heapglass makes of 20,000 addresses, against llvm-symbolizer, frame by frame.

Compared are the instructions of a program full of templates and inlined functions. Lines, files
and the number of frames must be the same. Names may differ in two ways, both counted: in suffixes
clones (`f.cold`), which heapglass cuts off, and between aliases: of functions with one address, as
the variants of a constructor (C1, C2) are, any name is right.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from heapglass.model import Frame, FrameAddress
from heapglass.symbols.names.demangle import clean_name
from heapglass.symbols.symbolizer import Symbolizer
from unit.symbols.toolchain import BIAS, build, module_of, run

pytestmark = pytest.mark.slow

ADDRESSES = 20_000
INSTRUCTION = re.compile(r"^ +([0-9a-f]+):\t", re.MULTILINE)
VARIANT = re.compile(r"([CD])[1-5](?=[EI]|$)")


@pytest.fixture(scope="module")
def crowd(built: Path) -> Path:
    return build("crowd.cpp", built / "crowd", "-g", "-std=c++20")


def instructions(program: Path) -> list[int]:
    listing = run("objdump", "-d", "-j", ".text", "--no-show-raw-insn", program)
    return [int(address, 16) for address in INSTRUCTION.findall(listing)]


def second_opinion(program: Path, addresses: list[int]) -> list[list[dict[str, str]]]:
    text = "".join(f"{address - 1:#x}\n" for address in addresses)
    options = ("--output-style=JSON", "--no-demangle", "--inlines")
    output = run("llvm-symbolizer", f"--obj={program}", *options, text=text)
    return [json.loads(line)["Symbol"] for line in output.splitlines() if line]


def test_lines_and_frames_are_the_same_and_names_are_explained(crowd: Path, tmp_path: Path) -> None:
    found = instructions(crowd)
    assert len(found) >= ADDRESSES
    addresses = found[:: len(found) // ADDRESSES][:ADDRESSES]
    symbolizer = Symbolizer([module_of(crowd)], tmp_path / "cache")
    ours = symbolizer.resolve([FrameAddress(address + BIAS, 0) for address in addresses])
    seen: Counter[str] = Counter()
    for address, theirs in zip(addresses, second_opinion(crowd, addresses), strict=True):
        seen.update(compare(ours[FrameAddress(address + BIAS, 0)], theirs))
    assert seen["between functions"] + seen["without lines"] < ADDRESSES // 50
    assert seen["frames"] > 3 * ADDRESSES / 2, "hardly anything was inlined"
    assert not seen["number of frames"]
    assert not seen["line"]
    assert not seen["file"]
    assert not seen["name"]
    assert seen["same name"] + seen["suffix"] + seen["alias"] == seen["frames"]
    assert seen["same name"] > 0.9 * seen["frames"]


def compare(ours: tuple[Frame, ...], theirs: list[dict[str, str]]) -> list[str]:
    if not theirs[-1]["Line"]:
        # Known from the symbol table alone, where llvm takes the nearest name in front.
        is_right = ours[0].function in ("", clean_name(theirs[-1]["FunctionName"]))
        return ["without lines" if is_right and not ours[0].line else "name"]
    is_same = ours[0].function == clean_name(theirs[-1]["FunctionName"])
    if not ours[0].line and (is_same or not theirs[-1]["StartLine"]):
        # Padding, or code in front of its function's first line: llvm goes on with the line of the
        # function before.
        return ["between functions"]
    if len(ours) != len(theirs):
        return ["number of frames"]
    pairs = zip(ours, theirs, strict=True)
    return [word for our, their in pairs for word in ("frames", difference(our, their))]


def difference(our: Frame, their: dict[str, str]) -> str:
    if our.line != int(their["Line"]):
        return "line"
    if os.path.basename(our.file) != os.path.basename(their["FileName"]):
        return "file"
    raw = their["FunctionName"]
    if our.function == clean_name(raw):
        return "same name" if "." not in raw else "suffix"
    if VARIANT.search(raw):
        return "alias" if our.function.split("(")[0] == clean_name(raw).split("(")[0] else "name"
    return "name"
