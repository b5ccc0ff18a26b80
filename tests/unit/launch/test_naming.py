from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.errors import LaunchError
from heapglass.launch import naming

MAGIC = b"heapgls\n"


@pytest.fixture(autouse=True)
def in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_output_becomes_absolute(tmp_path: Path) -> None:
    assert naming.template_for("x.heapglass") == f"{tmp_path}/x.heapglass"
    assert naming.template_for("/tmp/%e.%p") == "/tmp/%e.%p"


def test_percent_sign_of_a_directory_is_no_placeholder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / "100%p"
    odd.mkdir()
    monkeypatch.chdir(odd)
    assert naming.expand(naming.template_for("x.%p"), 7, "x") == f"{odd}/x.7"
    assert naming.expand(naming.default_template("/tmp")[0], 7, "x") == f"{odd}/x.7.heapglass"


@given(st.text())
def test_escaped_text_stands_for_itself(text: str) -> None:
    assert naming.expand(naming.escape(text), 1, "x") == text


def test_placeholders() -> None:
    host = os.uname().nodename
    assert naming.expand("%e-%p-%h-100%%", 12, "x") == f"x-12-{host}-100%"


@pytest.mark.parametrize("template", ["%t", "x.%n", "%p.%t"])
def test_what_only_the_process_knows_is_not_guessed(template: str) -> None:
    assert naming.expand(template, 1, "x") is None


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("out/", "is a directory"),
        (".", "is a directory"),
        ("none/x", "there is no directory none"),
        ("x.%z", "%z in x.%z stands for nothing"),
    ],
)
def test_output_that_cannot_work_is_refused(output: str, problem: str) -> None:
    with pytest.raises(LaunchError, match=problem) as caught:
        naming.template_for(output)
    assert caught.value.exit_code == 125


def test_directory_that_is_not_writable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    with pytest.raises(LaunchError, match="is not writable"):
        naming.template_for("x")
    with pytest.raises(LaunchError, match="is not writable"):
        naming.default_template("/tmp")


def test_default_is_in_the_current_directory(tmp_path: Path) -> None:
    assert naming.default_template("/tmp") == (f"{tmp_path}/%e.%p.heapglass", "")


def test_default_moves_when_the_current_directory_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    template, reason = naming.default_template(str(tmp_path))
    assert template == f"{tmp_path}/%e.%p.heapglass"
    assert reason == "the current directory is gone"


def test_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(MAGIC)
    with pytest.raises(LaunchError, match="exists already"):
        naming.clear_way(str(file), force=False)
    assert file.exists()


@pytest.mark.parametrize("content", [b"", MAGIC + b"more"])
def test_force_replaces_a_recording(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x%"
    file.write_bytes(content)
    naming.clear_way(naming.escape(str(file)), force=True)
    assert not file.exists()


def test_force_replaces_nothing_else(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"heapgls? no")
    recording = tmp_path / "recording"
    recording.write_bytes(MAGIC)
    link = tmp_path / "link"
    link.symlink_to(recording)
    dangling = tmp_path / "dangling"
    dangling.symlink_to("nowhere")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (precious, link, dangling, fifo, "/dev/null"):
        with pytest.raises(
            LaunchError, match="is no recording, so it is not replaced: use another"
        ):
            naming.clear_way(str(path), force=True)
        assert os.path.lexists(path)


def test_force_is_not_advised_where_it_would_not_help(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"heapgls? no")
    for path in (precious, "/dev/null"):
        with pytest.raises(LaunchError, match="exists already and is no recording") as caught:
            naming.clear_way(str(path), force=False)
        assert "--force" not in str(caught.value)


def test_file_that_may_not_be_read_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").write_bytes(MAGIC)
    monkeypatch.setattr("builtins.open", _refuse)  # root may read anything
    with pytest.raises(LaunchError, match="is no recording"):
        naming.clear_way(str(tmp_path / "x"), force=True)


def _refuse(*_: object, **__: object) -> None:
    raise PermissionError


def test_placeholders_leave_nothing_to_clear(tmp_path: Path) -> None:
    (tmp_path / "x.%p").write_text("odd name")
    naming.clear_way(f"{tmp_path}/x.%p", force=False)


@pytest.mark.parametrize("name", ["x.12.heapglass", "x.12.2.heapglass", "x.y.1.heapglass"])
def test_names_the_library_makes_are_recognised(name: str) -> None:
    assert naming.could_be(name, "/out/%e.%p.heapglass")
    assert not naming.could_be(name, "/out/other")


def test_name_with_pid_appended_is_recognised() -> None:
    assert naming.could_be("out.123.2", "/somewhere/out")


@pytest.mark.parametrize("beginning", [MAGIC, b"heapgpk\n"])
def test_force_replaces_recordings_packed_or_not(tmp_path: Path, beginning: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(beginning + b"more")
    naming.clear_way(str(path), force=True)
    assert not path.exists()


def test_no_recording_has_no_name(tmp_path: Path) -> None:
    assert naming.template_for("none") == naming.NO_RECORDING
    naming.clear_way(naming.NO_RECORDING, force=False)
    assert naming.template_for("./none") == f"{tmp_path}/./none"


@pytest.mark.parametrize("output", ["/dev/null", "/dev/../proc/x", "link/x", "/sys/kernel/x"])
def test_no_recording_goes_among_the_kernels_files(tmp_path: Path, output: str) -> None:
    (tmp_path / "link").symlink_to("/dev")
    with pytest.raises(LaunchError, match="no files are made in /dev, /proc or /sys"):
        naming.template_for(output)
    assert naming.template_for("/dev/shm/x") == "/dev/shm/x"


def test_a_run_in_dev_records_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir("/dev")
    template, reason = naming.default_template(str(tmp_path))
    assert template == f"{tmp_path}/{naming.DEFAULT_NAME}"
    assert reason == "no files are made in /dev, /proc or /sys"
