"""The hash of a source, against FNV-1a written down once more, byte by byte."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from heapglass.analysis.source_hash import source_hash, source_hashes
from heapglass.model import FrameAddress, Module, Stack

APP = Module(0, "/usr/bin/app", 0x1000, 0x9000, 0x1000, "ab12", 1, 1, is_main=True, is_vdso=False)
LIB = replace(APP, index=1, path="/lib/libx.so", start=0xA000, end=0xB000, bias=0xA000, build_id="")


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def test_reference_is_fnv() -> None:
    assert fnv(b"") == 0xCBF29CE484222325
    assert fnv(b"foobar") == 0x85944171F73967E8


def test_build_id_then_offset_innermost_first() -> None:
    stack = Stack((FrameAddress(0xA123, 1), FrameAddress(0x1FFF, 0), FrameAddress(0x77, -1)))
    expected = (
        b"libx.so\x23\x01\0\0\0\0\0\0"  # no build-id
        b"\xab\x12\xff\x0f\0\0\0\0\0\0"
        b"\x77\0\0\0\0\0\0\0"  # in no module
    )
    assert source_hash(stack, [APP, LIB]) == fnv(expected)


def test_same_where_modules_are_loaded_elsewhere() -> None:
    moved = replace(APP, start=0x7000, end=0xF000, bias=0x7000)
    here = source_hash(Stack((FrameAddress(0x1234, 0),)), [APP])
    assert source_hash(Stack((FrameAddress(0x7234, 0),)), [moved]) == here
    assert source_hash(Stack((FrameAddress(0x7235, 0),)), [moved]) != here


def test_negative_bias_wraps() -> None:
    low = replace(APP, bias=-0x1000)
    stack = Stack((FrameAddress(2**64 - 0x800, 0),))
    assert source_hash(stack, [low]) == fnv(b"\xab\x12\x00\x08\0\0\0\0\0\0")


def test_stack_without_frames() -> None:
    assert source_hash(Stack(()), [APP]) == fnv(b"")
    assert source_hashes([], [], [APP]).tolist() == []


FRAMES = st.builds(FrameAddress, st.integers(0x1000, 2**64 - 1), st.integers(-1, 1))


@given(st.lists(st.lists(FRAMES, max_size=5), max_size=6))
def test_many_at_once_are_each_alone(stacks: list[list[FrameAddress]]) -> None:
    frames_of_all = list(dict.fromkeys(frame for frames in stacks for frame in frames))
    numbers = [[frames_of_all.index(frame) for frame in frames] for frames in stacks]
    all_at_once = source_hashes(numbers, frames_of_all, [APP, LIB])
    for frames, value in zip(stacks, all_at_once.tolist(), strict=True):
        data = b""
        for frame in frames:
            module = [APP, LIB][frame.module] if frame.module >= 0 else None
            data += (b"", b"\xab\x12", b"libx.so")[frame.module + 1]
            bias = module.bias if module else 0
            data += ((frame.address - bias) % 2**64).to_bytes(8, "little")
        assert value == fnv(data)
