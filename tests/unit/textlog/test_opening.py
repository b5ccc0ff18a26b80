"""Logs from files, pipes and connections, plain and compressed, whole and cut."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from heapglass.errors import LogError
from heapglass.textlog import opening
from heapglass.textlog.log import Log, read_log
from heapglass.textlog.opening import LogInput, open_log, parse_endpoint
from recordings.made_log import MadeLog

if TYPE_CHECKING:
    from pathlib import Path

TEXT = MadeLog(2).run(200).text()


def zstd(data: bytes) -> bytes:
    program = shutil.which("zstd")
    assert program is not None
    return subprocess.run([program, "-cq"], input=data, capture_output=True, check=True).stdout


def entries_of(data: bytes) -> int:
    return read(data).entries


def read(data: bytes) -> Log:
    return read_log(LogInput("data", io.BytesIO(data)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_every_packing_is_recognised(pack, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT))
    log = read_log(open_log(str(path)))
    assert log.entries == TEXT.count(b"\n-\n")
    assert log.problems.count == 0


def test_gzip_files_one_behind_the_other() -> None:
    half = TEXT.index(b"\n+", len(TEXT) // 2) + 1
    assert entries_of(gzip.compress(TEXT[:half]) + gzip.compress(TEXT[half:])) == entries_of(TEXT)


def test_small_reads_are_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "BLOCK", 17)
    assert entries_of(TEXT) == entries_of(gzip.compress(TEXT)) == entries_of(zstd(TEXT))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_packed_data_that_ends_early_is_read_so_far(pack) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    long = TEXT + b"".join(b"+ malloc %d 0x%x\n-\n" % (n, n * 977) for n in range(1, 90_000))
    packed = pack(long)
    log = read(packed[: len(packed) // 2])
    assert 0 < log.entries < long.count(b"\n-\n")
    assert "before its end" in log.problems.first[-1].what


def test_packed_data_that_is_damaged() -> None:
    packed = bytearray(gzip.compress(TEXT, 0))
    packed[len(packed) // 2 :] = b"\xff" * 300
    with pytest.raises(LogError, match="not a log"):
        read(bytes(packed[:12]) + b"\xff" * 100)
    assert read(bytes(packed)).problems.count > 0


def test_without_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(LogError, match="install the program 'zstd'"):
        read(b"\x28\xb5\x2f\xfd....")


def test_a_named_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    assert read_log(open_log(str(path))).entries == entries_of(TEXT)
    writer.join()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4000", ("127.0.0.1", 4000)),
        (":4000", ("127.0.0.1", 4000)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),  # noqa: S104
        ("localhost:65535", ("localhost", 65535)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_endpoints(text: str, expected: tuple[str, int]) -> None:
    assert parse_endpoint(text) == expected


@pytest.mark.parametrize("text", ["", "host", "host:", "1:65536", "1:-1", "::²"])
def test_no_endpoints(text: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT"):
        parse_endpoint(text)
