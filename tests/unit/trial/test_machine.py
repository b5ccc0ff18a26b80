"""A machine that lacks something says so; this one, whatever it is, has something to say."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from heapglass.errors import LaunchError
from heapglass.model import Finding, Severity
from heapglass.trial import machine, probe
from heapglass.trial.machine import examine_machine


def about(scratch: Path, subject: str) -> list[Finding]:
    return [finding for finding in examine_machine(scratch) if finding.subject == subject]


def test_every_subject_has_a_line(tmp_path: Path) -> None:
    found = examine_machine(tmp_path)
    subjects = ["system", "library", "recording", "kernel", "c library", "place", "limits"]
    assert list(dict.fromkeys(finding.subject for finding in found)) == subjects
    (recording,) = (finding for finding in found if finding.subject == "recording")
    assert recording.severity is Severity.OK
    assert "1,000 of a program's 1,000" in recording.text


def test_a_missing_library_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise LaunchError("it is missing")

    monkeypatch.setattr(machine, "library_path", missing)
    assert [f.severity for f in about(tmp_path, "library")] == [Severity.WARNING]


def test_a_library_that_cannot_be_loaded_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def environment(_: object, __: Path) -> dict[bytes, bytes]:
        return {b"LD_PRELOAD": b"/nowhere/libheapglass.so"}

    monkeypatch.setattr(type(probe.EXACT), "environment", environment)
    (found,) = about(tmp_path, "recording")
    assert found.severity is Severity.WARNING
    assert "/nowhere/libheapglass.so" in found.text


def test_an_old_kernel_and_an_old_c_library_are_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_advice_works", lambda _: False)
    monkeypatch.setattr(machine, "_has_rseq", lambda _: False)
    notes = [f.text for f in examine_machine(tmp_path) if f.severity is Severity.NOTE]
    for lacking in ("MADV_POPULATE_WRITE", "MADV_WIPEONFORK", "rseq"):
        assert any(text.startswith(f"Has no {lacking}") for text in notes)


def test_another_processor_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = SimpleNamespace(sysname="Linux", release="6.1", machine="riscv64", nodename="box")
    monkeypatch.setattr(os, "uname", lambda: system)
    (found,) = about(tmp_path, "system")
    assert (found.severity, found.text) == (Severity.WARNING, "Linux 6.1 on riscv64.")


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=1, f_frsize=4096))
    assert [f.severity for f in about(tmp_path, "place")] == [Severity.WARNING]


def test_memory_as_a_disk_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "file_system_of", lambda _: "tmpfs")
    assert [f.severity for f in about(tmp_path, "place")] == [Severity.NOTE]


def test_limits_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 << 30, 1 << 30))
    monkeypatch.setattr(machine, "_overcommit", lambda: "2")
    (found,) = about(tmp_path, "limits")
    assert found.severity is Severity.NOTE
    assert "ulimit -v 1.0 GiB, ulimit -f 1.0 GiB, vm.overcommit_memory 2" in found.text
