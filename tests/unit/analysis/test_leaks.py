from __future__ import annotations

import pytest

from heapglass.analysis.leaks import Remainder, find_remains
from heapglass.model import ProcessState
from unit.fake_source import site_table

TABLE = site_table(
    [
        {"id": 2, "live_bytes": 10, "live_blocks": 1},
        {"id": 3},
        {"id": 4, "live_bytes": 90, "live_blocks": 3},
    ]
)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        (ProcessState.RUNNING, Remainder.LIVE),
        (ProcessState.EXITED, Remainder.LEAKED),
        (ProcessState.SIGNALED, Remainder.LEFT),
        (ProcessState.KILLED, Remainder.LEFT),
        (ProcessState.EXEC, Remainder.LEFT),
    ],
)
def test_only_a_process_that_ended_by_itself_leaks(state: ProcessState, kind: Remainder) -> None:
    remains = find_remains(state, TABLE)
    assert remains.kind is kind
    assert TABLE.id[remains.rows].tolist() == [4, 2]
    assert (remains.blocks, remains.size_bytes) == (4, 100)


def test_nothing_remains_of_nothing() -> None:
    remains = find_remains(ProcessState.EXITED, site_table([]))
    assert (len(remains.rows), remains.blocks, remains.size_bytes) == (0, 0, 0)
