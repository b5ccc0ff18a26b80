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


def test_a_page_is_replaced_and_readable_as_the_user_has_it(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    mask = os.umask(0o022)
    try:
        assert run("-o", str(page), "app.heapglass") == 0
    finally:
        os.umask(mask)
    assert "heapglass" in page.read_text()
    assert page.stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


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
    assert run("-o", "page.html", "app.heapglass") == 1
    assert capsys.readouterr().err == "heapglass: page.html cannot be written: Is a directory\n"


def test_a_device_is_written_to_and_stays_one(run: Run) -> None:
    assert run("-o", "/dev/null", "app.heapglass") == 0
    assert not Path("/dev/null").is_file()
