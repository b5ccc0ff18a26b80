from __future__ import annotations

import pytest

from heapglass.model import LossKind
from heapglass.units import Units
from heapglass.views.caveats import list_caveats
from unit.fake_source import FakeSource


def test_a_whole_recording_has_none() -> None:
    assert list_caveats(FakeSource()) == ()


@pytest.mark.parametrize("kind", LossKind)
def test_every_loss_is_one_sentence_with_its_number(kind: LossKind) -> None:
    (sentence,) = list_caveats(FakeSource(loss_items={kind: 12_345}))
    assert "12,345 " in sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "{" not in sentence


def test_one_is_singular() -> None:
    (sentence,) = list_caveats(FakeSource(loss_items={LossKind.EARLY: 1}))
    assert "1 allocation made" in sentence


@pytest.mark.parametrize("reason", ["disk_full", "budget", "no_memory", "internal", "novel"])
def test_stepping_down_is_told_with_time_and_reason(reason: str) -> None:
    (off,) = list_caveats(FakeSource(ladder=("off", reason, 1_500_000_000)))
    assert off.startswith("Recording stopped at 1.5 s, because ")
    (dropping,) = list_caveats(FakeSource(ladder=("dropping", reason, 1_500_000_000)))
    assert dropping.startswith("Recording is incomplete since 1.5 s, because ")


def test_estimates_are_called_so() -> None:
    (sentence,) = list_caveats(FakeSource(mode="sampled"))
    assert "512 KiB" in sentence
    (sentence,) = list_caveats(FakeSource(peak_error_bytes=4096), Units.SI)
    assert "4.1 kB" in sentence
