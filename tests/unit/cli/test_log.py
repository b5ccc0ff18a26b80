"""`heapglass log` as a user sees it: its tables, its document, its errors."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from heapglass.cli import main
from heapglass.recording import open_recording
from unit.cli.sample_log import SAMPLE_LOG

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "sample.log"
    path.write_bytes(SAMPLE_LOG)
    return path


EXPECTED = """\
! The writer dropped 12 entries: no number here includes them.

/no/such/editor
pid 5625, ended, 2 threads

  Allocated  4 blocks   4.2 KiB
  Freed      2 blocks     136 B
  Leaked     2 blocks   4.0 KiB
  Peak                  4.1 KiB
  Calls      malloc 3, calloc 1, realloc-realloc 1, free 3, INIT 1, FINI 1; 1 of them failed

Leaked  4.0 KiB in 2 blocks from 2 sites
   4.0 KiB   99%       1 block   /no/such/editor+0x12f3c
            ← editor+0x12000
      24 B    1%       1 block   [no frames]

Largest blocks left  and the entries they came with
   4.0 KiB  0x55d0c9adf010   line 9  malloc  thread 5625
      24 B  0x55d0c9af0000  line 31  malloc  thread 5625

Top callers  by allocations
              2   50%     136 B  /no/such/editor+0x23222
              1   25%      24 B  [no frames]
              1   25%   4.0 KiB  /no/such/editor+0x12f3c
            ← editor+0x12000

Wrong frees  1 double, 1 of unknown blocks
  double   0x55d0c9aef2a0  line 24  thread 5625  editor+0x34333
  unknown  0x000001db9360  line 27  thread 5625

symbols: /no/such/editor: the file does not exist; its frames are shown as offsets

Not understood  1 line
  line 29  a line that belongs to nothing: what is this

"""


def test_the_tables(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["log", str(log)]) == 0
    output = capsys.readouterr().out
    assert output == f"{EXPECTED}10 entries in 34 lines of {log}\n"


def test_the_document(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["log", "--json", "--top", "1", str(log)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "heapglass.log/1"
    assert found["log"]["entries"] == 10
    assert found["problems"] == [
        {"line": 29, "what": "a line that belongs to nothing", "excerpt": "what is this"}
    ]
    (process,) = found["processes"]
    assert process["totals"]["live_bytes"] == 4120
    assert process["totals"]["peak_bytes"] == 4096 + 96
    assert (process["double_frees"], process["unknown_frees"], process["dropped"]) == (1, 1, 12)
    (leak,) = process["leaks"]
    assert [frame["offset"] for frame in leak["stack"]] == [0x12F3C, 0x12000]
    assert process["left"][0] == {
        "address": 0x55D0C9ADF010,
        "size": 4096,
        "call": "malloc",
        "tid": 5625,
        "line": 9,
        "site": leak["id"],
    }


def test_a_recording_is_made_once(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = log.with_name("made.heapglass")
    assert main.main(["log", "--convert", str(out), str(log)]) == 0
    assert capsys.readouterr().out == ""
    with open_recording(out) as recording:
        assert recording.totals.live_bytes == 4120
    assert main.main(["log", "--convert", str(out), str(log)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main.main(["log", "--force", "--convert", str(out), str(log)]) == 0
    for command in ("summary", "table", "doctor"):
        assert main.main([command, str(out)]) == 0
        assert "5625" in capsys.readouterr().out or command == "table"


def test_one_of_several_processes(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(SAMPLE_LOG + b"# PID 7\n# EXE /bin/other\n+ malloc 1 0x10 7 7 1\n-\n")
    assert main.main(["log", str(log)]) == 0
    assert "pid 7, end not seen" in capsys.readouterr().out
    assert main.main(["log", "--pid", "7", "--json", str(log)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["process"]["pid"] for item in found["processes"]] == [7]
    assert main.main(["log", "--pid", "8", str(log)]) == 2
    assert "tells nothing about process 8, but about 5625, 7" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["log"], 2, "give either a FILE or --listen"),
        (["log", "--listen", "1", "file"], 2, "give either a FILE or --listen"),
        (["log", "--listen", "here:there"], 2, "is no HOST:PORT"),
        (["log", "--listen", "192.0.2.1:1"], 1, "cannot listen on 192.0.2.1:1"),
        (["log", "/no/such/file"], 1, "/no/such/file cannot be opened"),
        (["log", "/"], 1, "/ is a directory, not a log"),
        (["log", "/dev/null"], 1, "/dev/null is not a log of allocations"),
        (["log", "--convert", "/", "file"], 2, "/ is a directory"),
    ],
)
def test_errors_are_one_sentence(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(arguments) == code
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_a_file_of_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(b"\0\1\2" * 1000 + b"\nall kinds of things\n"))
    assert main.main(["log", str(path)]) == 1
    assert "is not a log of allocations" in capsys.readouterr().err
