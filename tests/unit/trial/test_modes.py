from __future__ import annotations

from pathlib import Path

import pytest

from heapglass.trial import modes
from heapglass.trial.modes import EXACT, PAUSED, PLAIN, SAMPLED


@pytest.fixture(autouse=True)
def user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose own variables ask for a mode, too."""
    own = {b"HOME": b"/home/user", b"HEAPGLASS_SAMPLE": b"auto", b"HEAPGLASS_PAUSED": b"1"}
    monkeypatch.setattr(modes, "inherited_environment", lambda: dict(own))


def test_plain_is_the_users_own(library: str) -> None:
    assert library.encode() not in PLAIN.environment(Path("/tmp")).get(b"LD_PRELOAD", b"")


def test_no_variable_of_the_user_turns_one_mode_into_another(library: str) -> None:
    chosen = {mode.name: mode.environment(Path("/tmp/50%")) for mode in (EXACT, SAMPLED, PAUSED)}
    names = (b"HEAPGLASS_SAMPLE", b"HEAPGLASS_PAUSED")
    assert [chosen["exact"][name] for name in names] == [b"0", b"0"]
    assert [chosen["sampled"][name] for name in names] == [b"524288", b"0"]
    assert [chosen["paused"][name] for name in names] == [b"0", b"1"]
    for environment in chosen.values():
        assert environment[b"LD_PRELOAD"].endswith(library.rpartition("/")[2].encode())
        assert environment[b"HEAPGLASS_OUT"] == b"/tmp/50%%/%e.%p.heapglass"
        assert environment[b"HOME"] == b"/home/user"
