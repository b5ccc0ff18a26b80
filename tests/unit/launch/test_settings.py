from __future__ import annotations

import pytest

from heapglass.launch.options import RunOptions
from heapglass.launch.settings import complete

PLAIN = RunOptions(("cmd",))


def completed(options: RunOptions = PLAIN, **environment: str) -> tuple[RunOptions, list[str]]:
    return complete(options, {name.encode(): text.encode() for name, text in environment.items()})


def test_nothing_said_changes_nothing() -> None:
    assert completed(HOME="/root", HEAPGLASS_DEPTH="") == (PLAIN, [])


def test_every_variable_is_heard() -> None:
    options, troubles = completed(
        HEAPGLASS_OUT="x",
        HEAPGLASS_QUIET="1",
        HEAPGLASS_FOLLOW="0",
        HEAPGLASS_DEPTH="9",
        HEAPGLASS_SNAPSHOT="0.5",
        HEAPGLASS_CHURN="64M",
        HEAPGLASS_MEMORY="1G",
        HEAPGLASS_SAMPLE="512k",
        HEAPGLASS_CORE="1",
    )
    assert troubles == []
    assert options == RunOptions(
        ("cmd",),
        output="x",
        is_quiet=True,
        follows_children=False,
        depth=9,
        snapshot_seconds="0.5",
        churn_bytes=64 << 20,
        memory_bytes=1 << 30,
        sample="524288",
        has_core=True,
    )


def test_an_option_is_stronger() -> None:
    given = RunOptions(("cmd",), output="mine", depth=3, follows_children=False)
    assert completed(given, HEAPGLASS_OUT="x", HEAPGLASS_DEPTH="9", HEAPGLASS_FOLLOW="1") == (
        given,
        [],
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEAPGLASS_DEPTH", "deep"),
        ("HEAPGLASS_SNAPSHOT", "-1"),
        ("HEAPGLASS_CHURN", "lots"),
        ("HEAPGLASS_MEMORY", "1M"),
        ("HEAPGLASS_SAMPLE", "17"),
        ("HEAPGLASS_CORE", "yes"),
        ("HEAPGLASS_LOG_FD", "two"),
        ("HEAPGLASS_LOG_STACKS", "yes"),
        ("HEAPGLASS_LOG_FULL", "block"),
        ("HEAPGLASS_LOG_FLUSH", "never"),
        ("HEAPGLASS_TRACE", "2"),
        ("HEAPGLASS_QUIET", "yes"),
        ("HEAPGLASS_FOLLOW", "2"),
        ("HEAPGLASS_PMEM", "yes"),
        ("HEAPGLASS_BUDGET", "abc"),
        ("HEAPGLASS_BUDGET", "0"),
        ("HEAPGLASS_BUDGET", "-1%"),
        ("HEAPGLASS_BUDGET", "3%%"),
        ("HEAPGLASS_BUDGET", "9" * 5000),
        ("HEAPGLASS_PAUSED", "yes"),
        ("HEAPGLASS_SEED", "x"),
        ("HEAPGLASS_SEED", "18446744073709551616"),
    ],
)
def test_nonsense_is_told_and_ignored(variable: str, value: str) -> None:
    options, (line,) = completed(**{variable: value})
    assert options == PLAIN
    assert line.replace("'", "").startswith(f"{variable}={value} is not ")
    assert line.endswith("; using the default")


@pytest.mark.parametrize("value", ["3", "3%", "0.5%", "0.01", "1.%", "100000%"])
def test_what_the_library_reads_by_itself_is_left_alone(value: str) -> None:
    given = {"HEAPGLASS_PAUSED": "1", "HEAPGLASS_PMEM": "0", "HEAPGLASS_SEED": "0017"}
    assert completed(**given, HEAPGLASS_BUDGET=value) == (PLAIN, [])


def test_what_an_outer_run_set_for_its_program_is_not_ours() -> None:
    outer = {"HEAPGLASS_SESSION": "1f", "HEAPGLASS_OUT": "/x", "HEAPGLASS_QUIET": "1"}
    options, _ = completed(**outer, HEAPGLASS_FOLLOW="0", HEAPGLASS_DEPTH="9")
    assert options == RunOptions(("cmd",), depth=9)
