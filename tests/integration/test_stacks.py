"""Stacks: every frame of known chains by name, cuts where they belong, modules kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.bench import Bench
from harness.counters import by_name, rows
from harness.names import site_name
from harness.programs import compiled, program
from harness.running import under_heapglass
from heapglass.model import HeapSource, Pseudo
from heapglass.recording.file.image import Image
from heapglass.recording.file.opened import RecordingFile
from heapglass.recording.tables.ledger import read_large
from heapglass.symbols.naming import names_of

CHAINS = {
    100: [
        "site_leaf",
        "big_frame",
        "alloca_frame",
        "realigned_frame",
        "many_arguments",
        "variadic",
    ],
    300: ["site_leaf", "through_pointer"],
    200: ["site_leaf", "compare", "lfind", "through_library"],
}


def stack_by_size(source: HeapSource) -> dict[int, list[str]]:
    """Names of the frames of each site, by the size of the block it allocated."""
    return {row.counters["bytes"]: row.names for row in rows(source) if site_name(row.names)}


def assert_known_chains(recording: HeapSource) -> None:
    stacks = stack_by_size(recording)
    for size, chain in CHAINS.items():
        assert stacks[size][: len(chain)] == chain
        assert stacks[size][len(chain)] == "main"
        assert stacks[size][-1] == "_start"


def test_every_frame_of_known_chains(bench: Bench) -> None:
    assert_known_chains(bench.compare(program("chains").argv()).recording)


@pytest.mark.parametrize("position", ["-pie", "-no-pie"])
@pytest.mark.parametrize(
    "layout",
    [
        "-z,max-page-size=0x200000",
        "--section-start=.data=0x900000",
        "--section-start=.text=0x900000",
    ],
)
def test_a_program_with_gaps_between_its_segments(bench: Bench, layout: str, position: str) -> None:
    chains = program("chains")
    binary = compiled(chains.source, *chains.build, position, f"-Wl,{layout}")
    recording = bench.compare([binary]).recording
    assert_known_chains(recording)
    assert recording.losses.items == ()
    assert {module.path for module in recording.modules if module.is_main} == {binary}


def test_a_signal_frame_is_walked_through(bench: Bench) -> None:
    names = stack_by_size(bench.compare(program("chains").argv()).recording)[10]
    assert names[:2] == ["site_leaf", "handler"]
    assert names.index("through_signal") < names.index("main") == len(names) - 4


def test_recursion_is_cut_at_the_limit(bench: Bench) -> None:
    argv, setting = program("recursion").argv(), under_heapglass(HEAPGLASS_DEPTH="40")
    recording = bench.record(argv, setting).recording
    found = [
        (row.names.count("site_recursive"), len(row.names), recording.stack(row.site).cut)
        for row in rows(recording)
        if site_name(row.names)
    ]
    # The whole one, the one a frame too long, and the three that are nothing but recursion.
    assert sorted(found) == [(36, 40, None), (37, 40, Pseudo.DEPTH), (40, 40, Pseudo.DEPTH)]
    sites = recording.sites().id.tolist()
    cuts = recording.cuts()
    assert [cuts.get(site) for site in sites] == [recording.stack(site).cut for site in sites]


def test_stacks_as_deep_as_imports_are_whole(bench: Bench) -> None:
    """Importing numpy, mypy or playwright takes up to 220 frames."""
    recording = bench.record(program("recursion").argv()).recording
    assert recording.recorder.depth_limit == 256
    whole, cut = [], []
    for row in rows(recording):
        if site_name(row.names):
            (cut if recording.stack(row.site).cut else whole).append(len(row.names))
    assert (sorted(whole), cut) == ([40, 41, 220], [256])


SELDOM = {
    "HEAPGLASS_SAMPLE": "16k",
    "HEAPGLASS_SEED": "3",
}  # so that most of the loader's go unseen


@pytest.mark.parametrize(("calls", "environment"), [(1, {}), (2000, SELDOM)])
def test_libraries_that_shared_an_address_keep_their_names(
    bench: Bench, calls: int, environment: dict[str, str]
) -> None:
    twins = {name: program(f"twin_{name}").path() for name in ("one", "two")}
    argv = program("dlopen_reuse").argv((*twins.values(), str(calls)))
    recording = bench.compare(argv, under_heapglass(**environment)).recording
    seen = set()
    for row in rows(recording):
        if name := site_name(row.names):
            seen.add(name)
            frame = recording.stack(row.site).frames[0]
            assert recording.modules[frame.module].path == twins[name.removeprefix("site_twin_")]
            size = row.counters["bytes"] / row.counters["allocations"]
            assert size == pytest.approx(11 if "one" in name else 22, rel=0.01)
    assert seen == {"site_twin_one", "site_twin_two"}


def test_what_the_loader_allocates_is_freed_the_general_way(bench: Bench) -> None:
    """Only that looks whether a library is gone, so the short way must not find such blocks."""
    again = program("dlopen_again")
    recording = bench.compare(again.argv(again.cases[0])).recording
    blocks, found = recording.blocks(), 0
    with RecordingFile(recording.name) as file:
        apart = set(read_large(Image(file)).address.tolist())
    for address, site in zip(blocks.address.tolist(), blocks.site.tolist(), strict=True):
        module = recording.stack(site).frames[0].module
        if module is not None and "ld-linux" in recording.modules[module].path:
            assert address in apart
            found += 1
    assert found > 2


def test_a_coroutine_has_its_own_stack(bench: Bench) -> None:
    recording = bench.compare(program("small_stacks").argv()).recording
    [row] = [row for row in rows(recording) if site_name(row.names) == "site_coroutine"][:1]
    assert row.names[0] == "site_coroutine"
    assert "main" not in row.names
    assert recording.stack(row.site).cut is None
    assert Path(recording.process.executable).name.startswith("small_stacks")


@pytest.mark.parametrize("depth", [1, 2, 4096])
def test_any_depth_limit(bench: Bench, depth: int) -> None:
    setting = under_heapglass(HEAPGLASS_DEPTH=str(depth))
    recording = bench.record(program("recursion").argv(), setting).recording
    stacks = [recording.stack(row.site) for row in rows(recording) if site_name(row.names)]
    assert max(len(stack.frames) for stack in stacks) == depth
    assert {len(stack.frames) for stack in stacks if stack.cut} == {depth}


def test_code_that_comes_and_goes_while_others_allocate(bench: Bench) -> None:
    argv = program("dlopen_busy").argv(program("dlopen_reuse").cases[0])
    recording = bench.compare(argv).recording
    names = {"site_busy": 60_000, "site_twin_one": 100, "site_twin_two": 100}
    counters = by_name(recording)
    assert {name: counters[name]["allocations"] for name in names} == names
    assert recording.losses.items == ()


@pytest.mark.parametrize(
    ("name", "case"), [("many_blocks", ("8000",)), ("churn", ("8000",)), ("closures", ())]
)
def test_stacks_that_change_with_every_call(bench: Bench, name: str, case: tuple[str, ...]) -> None:
    """Whatever is re-used of earlier walks must not show."""
    assert bench.witnessed(program(name).argv(case)) == []


def test_code_made_at_run_time_has_the_name_of_its_map(bench: Bench) -> None:
    name = "LazyCompile:*allocate main.js:7"
    recording = bench.record([*program("jitted").argv(), name]).recording
    frames = {site: recording.stack(site).frames for site in recording.sites().id.tolist()}
    try:
        names = names_of(recording)
        found = [names.frames(frame)[0] for stack in frames.values() for frame in stack[:1]]
    finally:
        Path(f"/tmp/perf-{recording.process.pid}.map").unlink()
    assert [frame.function for frame in found] == [name]
