"""Which modes there are is decided by what the driver's recordings say."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from heapglass.errors import LaunchError, RecordingError
from heapglass.trial import probe
from heapglass.trial.modes import EXACT, PAUSED, PLAIN, SAMPLED, Mode
from heapglass.trial.probe import ALLOCATIONS, available_modes, record_driver


def recording(allocations: int, sample_bytes: int = 0) -> SimpleNamespace:
    return SimpleNamespace(
        sums=SimpleNamespace(allocations=allocations),
        header=SimpleNamespace(sample_bytes=sample_bytes),
    )


def modes(monkeypatch: pytest.MonkeyPatch, **found: SimpleNamespace | None) -> tuple[Mode, ...]:
    monkeypatch.setattr(probe, "record_driver", lambda mode, _: found[mode.name])
    return available_modes(Path("/tmp"))


def test_a_library_that_knows_no_other_mode_is_exact_in_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    same = recording(ALLOCATIONS)
    assert modes(monkeypatch, exact=same, sampled=same, paused=same) == (PLAIN, EXACT)


@pytest.mark.parametrize("paused", [None, recording(0)])
def test_modes_are_known_by_what_they_leave_out(
    monkeypatch: pytest.MonkeyPatch, paused: SimpleNamespace | None
) -> None:
    found = modes(
        monkeypatch,
        exact=recording(ALLOCATIONS),
        sampled=recording(ALLOCATIONS, 512 << 10),
        paused=paused,
    )
    assert found == (PLAIN, EXACT, SAMPLED, PAUSED)


@pytest.mark.parametrize("exact", [None, recording(ALLOCATIONS - 1)])
def test_without_recording_there_is_nothing_to_measure(
    monkeypatch: pytest.MonkeyPatch, exact: SimpleNamespace | None
) -> None:
    with pytest.raises(LaunchError, match="see 'heapglass doctor'"):
        modes(monkeypatch, exact=exact)


def test_a_recording_that_cannot_be_read_is_no_missing_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(path: Path) -> None:
        raise RecordingError(f"{path.name} is damaged")

    monkeypatch.setattr(probe, "glance", damaged)
    with pytest.raises(RecordingError, match="is damaged"):
        available_modes(tmp_path)


def test_the_driver_is_recorded(tmp_path: Path) -> None:
    found = record_driver(EXACT, tmp_path)
    assert found is not None
    assert (found.sums.allocations, found.sums.frees) == (ALLOCATIONS, ALLOCATIONS)
    assert found.losses == {}
