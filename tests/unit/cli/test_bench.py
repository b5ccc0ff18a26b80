"""`heapglass bench` without measuring anything: its arguments, its screens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heapglass.cli import bench, main
from heapglass.trial.cells import DEPTHS, SIZES, Plan
from unit.cli.sample_costs import MODES, PROGRAM_COSTS, sample_cell
from unit.cli.test_golden import compare


class Measured:
    """What was asked for, in place of what takes time."""

    def __init__(self) -> None:
        self.plan = Plan()
        self.rounds = 0

    def cells(self, plan: Plan, *_: object) -> Any:
        self.plan = plan
        return tuple(sample_cell(cell) for cell in plan.cells)

    def program(self, series: Any, *_: object) -> Any:
        self.rounds = series.rounds
        return PROGRAM_COSTS


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    measured = Measured()
    monkeypatch.setattr(bench, "available_modes", lambda _: MODES)
    monkeypatch.setattr(bench, "measure_cells", measured.cells)
    monkeypatch.setattr(bench, "measure_program", measured.program)
    monkeypatch.delenv("COLUMNS", raising=False)
    return measured


SCREENS = {
    "bench-80": ([], "80"),
    "bench-60": (["--sizes", "8,16k", "--depths", "5,100"], "60"),
    "bench-pipe": (["--sizes", "8,16k", "--depths", "7", "--si"], ""),
    "bench-program-80": (["--", "true", "an argument"], "80"),
    "bench-program-60": (["true"], "60"),
}


@pytest.mark.parametrize("name", SCREENS)
@pytest.mark.usefixtures("measured")
def test_screen(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, columns = SCREENS[name]
    monkeypatch.setenv("COLUMNS", columns)
    assert main.main(["bench", *arguments]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "\x1b" not in output
    if columns:
        assert max(map(len, output.splitlines())) <= int(columns)
    compare(name, output)


def test_the_usual_plan(measured: Measured) -> None:
    assert main.main(["bench"]) == 0
    assert (measured.plan.sizes, measured.plan.depths, measured.plan.rounds) == (SIZES, DEPTHS, 7)
    assert SIZES == (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)


def test_a_plan_as_asked_for(measured: Measured) -> None:
    assert main.main(["bench", "--sizes", "4k,16", "--depths=50,7,7", "--rounds", "2"]) == 0
    assert (measured.plan.sizes, measured.plan.depths) == ((16, 4096), (7, 50))
    assert measured.plan.rounds == 2


def test_quick_is_less_of_everything(measured: Measured) -> None:
    assert main.main(["bench", "--quick"]) == 0
    quick, usual = measured.plan, Plan()
    assert quick.rounds < usual.rounds
    assert quick.effort.times * quick.effort.batches < usual.effort.times * usual.effort.batches


def test_rounds_of_a_program_as_asked_for(measured: Measured) -> None:
    assert main.main(["bench", "--rounds", "4", "true"]) == 0
    assert measured.rounds == 4
    assert main.main(["bench", "--quick", "--", "true"]) == 0
    assert measured.rounds == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sizes", "0"], "'0' is not a list of sizes"),
        (["--sizes", "8,x"], "'x' is not a size"),
        (["--depths", "5000"], "'5000' is not a list of depths"),
        (["--depths", ""], "'' is not a list of depths"),
        (["--rounds", "many"], "'many' is not a number of rounds"),
        (["--"], "there is no command behind --"),
        (["--sizes", "8", "--", "true"], "without a command"),
        (["--show-output"], "for measuring a command"),
    ],
)
@pytest.mark.usefixtures("measured")
def test_what_makes_no_sense_is_said(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["bench", *arguments]) == 2
    errors = capsys.readouterr().err
    assert words in errors
    assert errors.count("\n") == 1


@pytest.mark.usefixtures("measured")
def test_a_program_that_is_not_there_gives_127(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["bench", "--", str(tmp_path / "nothing")]) == 127
    assert "no such file" in capsys.readouterr().err
