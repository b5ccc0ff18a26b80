"""`heapglass report`: where the page goes, and what is said when it cannot go there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from heapglass.cli import main, report, source
from unit.fake_source import FakeNames
from unit.web.told_heap import told_heap

Run = Callable[..., int]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    heap = told_heap()
    opened = source.Opened(heap, FakeNames(heap))
    monkeypatch.setattr(report, "open_source", lambda _argument: opened)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: main.main(["report", *arguments])


def test_the_page_is_named_after_the_recording(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("elsewhere/app.1234.heapglass") == 0
    assert (tmp_path / "app.1234.html").read_text().startswith("<!doctype html>")
    assert capsys.readouterr().out.startswith("app.1234.html: ")


def test_a_file_that_is_there_is_replaced_by_force_only(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    page.write_text("int main(void)")
    assert run("-o", str(page), "app.heapglass") == 2
    assert capsys.readouterr().err == (
        f"heapglass: {page} exists already: use --force to replace it\n"
    )
    assert page.read_text() == "int main(void)"
    assert run("-f", "-o", str(page), "app.heapglass") == 0
    assert "heapglass" in page.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert run(str(page.with_suffix(".heapglass"))) == 2


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_page_is_for_those_who_may_read_the_recording(
    run: Run, tmp_path: Path, mode: int
) -> None:
    recording = tmp_path / "app.heapglass"
    recording.touch()
    recording.chmod(mode)
    mask = os.umask(0o022)
    try:
        assert run(str(recording)) == 0
    finally:
        os.umask(mask)
    assert (tmp_path / "app.html").stat().st_mode & 0o777 == mode


def test_the_page_into_a_pipe(run: Run, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run("-o", "-", "app.heapglass") == 0
    output = capsysbinary.readouterr().out
    assert output.startswith(b"<!doctype html>")
    assert output.endswith(b"</html>\n")


def test_a_place_that_cannot_be_written(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-o", "no/such/page.html", "app.heapglass") == 1
    error = capsys.readouterr().err
    assert error == "heapglass: no/such/page.html cannot be written: No such file or directory\n"


def test_a_directory_is_no_page(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.html").mkdir()
    assert run("-o", "page.html", "app.heapglass") == 2
    assert "page.html is a directory: name a file in it for -o" in capsys.readouterr().err


def test_a_device_is_written_to_and_stays_one(run: Run) -> None:
    assert run("-o", "/dev/null", "app.heapglass") == 0
    assert not Path("/dev/null").is_file()
