"""Every program that states what its sites must count: run bare, recorded, and witnessed."""

from __future__ import annotations

import pytest

from harness.bench import Bench, check_expectations, setting_for
from harness.consistency import contradictions
from harness.programs import Program, programs_with_expectations

CASES = [
    pytest.param(program, case, id=" ".join([program.name, *case]))
    for program in programs_with_expectations()
    for case in program.cases
]


@pytest.mark.parametrize(("program", "case"), CASES)
def test_same_behaviour_and_exact_counters(
    bench: Bench, program: Program, case: tuple[str, ...]
) -> None:
    recording = bench.compare(program.argv(case), setting_for(program)).recording
    assert check_expectations(program, recording) == []
    assert contradictions(recording) == []


@pytest.mark.parametrize(("program", "case"), CASES)
def test_all_counters_blocks_and_stacks_as_the_witness_saw_them(
    bench: Bench, program: Program, case: tuple[str, ...]
) -> None:
    assert bench.witnessed(program.argv(case), setting_for(program)) == []
