"""`heapglass log` on logs of real programs, from files, pipes and connections."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cli import Cli
from harness.programs import SOURCES

FLAGS = ["-O1", "-g", "-fno-inline", "-D_GNU_SOURCE"]


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def real_log(directory: Path, *flags: str) -> bytes:
    """What the program writes, built in a way of its own."""
    program = directory / "self_logging"
    source = SOURCES / "self_logging.c"
    subprocess.run(["gcc", *FLAGS, *flags, source, "-o", program], check=True)
    return subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout


def leaking_functions(document: dict[str, Any]) -> list[tuple[int, list[str]]]:
    (process,) = document["processes"]
    return [
        (leak["live_bytes"], [frame["function"] for frame in leak["stack"]])
        for leak in process["leaks"]
    ]


EXPECTED = [(1000, ["leaky_function", "main"]), (24, ["leaky_function", "main"])]


@pytest.mark.parametrize("kind", ["-pie", "-no-pie"])
def test_frames_have_the_names_of_the_program(cli: Cli, kind: str) -> None:
    path = cli.directory / "program.log"
    path.write_bytes(real_log(cli.directory, kind, "-fPIE" if kind == "-pie" else "-fno-pie"))
    document = json.loads(cli("log", "--json", path).stdout)
    assert document["log"]["not_understood"] == 0
    assert leaking_functions(document) == EXPECTED
    (process,) = document["processes"]
    assert process["totals"]["peak_bytes"] == 51_000
    assert process["process"]["exe"].endswith("self_logging")


def test_every_command_reads_the_conversion(cli: Cli) -> None:
    path = cli.directory / "program.log"
    path.write_bytes(real_log(cli.directory))
    assert cli("log", "--convert", "made.heapglass", path).returncode == 0
    table = json.loads(cli("table", "--json", "--sort", "leaked", "made.heapglass").stdout)
    found = [
        (site["live_bytes"], [frame["function"] for frame in site["stack"]])
        for site in table["sites"]
    ]
    assert found == EXPECTED
    summary = cli("summary", "made.heapglass")
    assert summary.returncode == 0
    assert "leaky_function" in summary.stdout
    assert cli("doctor", "made.heapglass").returncode == 0


def test_a_pipe(cli: Cli) -> None:
    log = real_log(cli.directory).decode()
    document = json.loads(cli("log", "--json", "-", stdin=log).stdout)
    assert leaking_functions(document) == EXPECTED


def listening(cli: Cli) -> tuple[subprocess.Popen[str], int]:
    process = cli.start("log", "--json", "--listen", "0")
    assert process.stderr is not None
    match = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
    assert match is not None
    return process, int(match[1])


def test_a_connection(cli: Cli) -> None:
    log = real_log(cli.directory)
    process, port = listening(cli)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(log)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert leaking_functions(json.loads(output)) == EXPECTED


def test_an_interrupt_ends_the_log_not_the_report(cli: Cli) -> None:
    log = real_log(cli.directory)
    process, port = listening(cli)
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(log)
        assert process.stderr is not None
        assert process.stderr.readline().startswith("heapglass: receiving from 127.0.0.1:")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert leaking_functions(json.loads(output)) == EXPECTED


def test_an_interrupt_before_any_connection(cli: Cli) -> None:
    process, _ = listening(cli)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output, errors) == (130, "", "")


def test_the_log_of_a_program_that_was_killed(cli: Cli) -> None:
    log = real_log(cli.directory)
    path = cli.directory / "cut.log"
    path.write_bytes(log[: log.index(b"+ FINI") - 9])
    done = cli("log", path)
    assert done.returncode == 0
    assert "The log does not tell how the process ended" in done.stdout
    assert path.name in done.stdout
