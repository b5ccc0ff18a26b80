"""Every example of every --help, run by a shell as it is written there.

The files that examples name lie ready. Only what no directory can hold is put in its place:
seconds of a long run become a few milliseconds, and absolute names, ports and addresses ours.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import TIMEOUT_SECONDS, Cli
from harness.programs import TESTS, program
from heapglass.cli.main import COMMANDS, load
from heapglass.cli.parser import Parser
from heapglass.cli.run import USAGE

SERVER = TESTS.parent / "examples" / "leaky_server.c"
SECOND_MS = 5  # ten of them are longer than a busy machine leaves the server without a snapshot
FOREIGN = ("jq", "go", "ms_print", "flamegraph.pl", "less")  # only read what they are given
# 1: there is something to tell.
ENDS = dict.fromkeys(("heapglass leaks", "heapglass doctor", "heapglass run --leaks"), (0, 1))
# What has to happen before, or at the same time.
BEFORE = {
    'eval "$(heapglass completion zsh)"': "autoload -U compinit; compinit -u -D; ",
    "heapglass log --listen": "(until LD_PRELOAD=$(heapglass lib) ./program"
    " 1022>/dev/tcp/localhost/{port}; do sleep 0.1; done) 2>/dev/null & ",
}


def examples() -> list[str]:
    found = []
    for name in COMMANDS:
        parser = Parser(name)
        if name != "run":
            load(name).configure(parser)
        text = USAGE if name == "run" else parser.format_help()
        found += text.partition("\nexamples:\n")[2].splitlines()
    return [line.strip() for line in found if line.strip()]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all the files that examples name."""
    directory = tmp_path_factory.mktemp("examples")
    _add_commands(directory / "bin")
    for name in ("server", "program"):
        shutil.copy(program("hello_world").path(), directory / name)
    _record_server(directory)
    for name in ("s.heapglass", "before.heapglass", "after.heapglass", "core.1234"):
        os.link(directory / "server.1234.heapglass", directory / name)
    cli = Cli(directory)
    assert cli("run", "-q", "--log", "program.log", "-o", "l", "./program").returncode == 0
    shutil.copy(directory / "program.log", directory / "program.log.zst")  # its content decides
    (directory / "lsan.supp").write_text("leak:cache_insert\n")
    (directory / "script.sql").write_text("select 1;\n")
    (directory / "Makefile").write_text("all:\n\t@./program\n")
    (directory / "program.c").write_text("#include <heapglass.h>\nint main(void) { return 0; }\n")
    subprocess.run(["sqlite3", "data.db", "create table t(a)"], cwd=directory, check=True)
    (directory / ".config/fish/completions").mkdir(parents=True)
    return directory


def _add_commands(directory: Path) -> None:
    directory.mkdir()
    scripts = dict.fromkeys(FOREIGN, "cat >/dev/null")
    scripts["go"] = "test -s s.pb.gz"
    scripts["ms_print"] = 'test -s "$1"'
    scripts["heapglass"] = f'exec {sys.executable} -m heapglass "$@"'
    for name, script in scripts.items():
        (directory / name).write_text(f"#!/bin/sh\n{script}\n")
        (directory / name).chmod(0o755)


def _record_server(directory: Path) -> None:
    command = ["gcc", "-O1", "-g", "-pthread", "-Dserve_connection=parse", str(SERVER)]
    subprocess.run(command, cwd=directory, check=True)
    options = ("-q", "-o", "server.1234.heapglass", "--snapshot", "0.001")
    done = Cli(directory)("run", *options, "./a.out", "24000")
    assert done.returncode == 0, done.stderr


def adapted(example: str, directory: Path, port: int) -> str:
    line = re.sub(r"\b(\d+)s\b", lambda time: f"{int(time[1]) * SECOND_MS}ms", example)
    line = re.sub(r"(?<= )/(?:tmp|mnt/share)/", f"{directory}/", line)
    line = line.replace("--listen 4000", f"--listen {port}")
    if "0x55f387eb2008" in line:
        line = line.replace("0x55f387eb2008", _some_address(directory))
    start = next((text for words, text in BEFORE.items() if example.startswith(words)), "")
    return start.replace("{port}", str(port)) + line


def _some_address(directory: Path) -> str:
    listed = Cli(directory)("core", "core.1234", "list", "used", "--brief").stdout
    found = re.search(r"\b[0-9a-f]{8,}\b", listed)
    assert found, listed
    return f"0x{found[0]}"


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    return number


@pytest.mark.parametrize("example", examples())
def test_it_works_as_written(example: str, prepared: Path, tmp_path: Path, port: int) -> None:
    place = tmp_path / "place"  # a new one, as examples write files that others would find
    shutil.copytree(prepared, place, copy_function=os.link)
    if output := re.match(r"heapglass run .*-o (\S+)", example):
        (place / output[1]).unlink()
    environment = Cli(place).environment({"HOME": str(place)})
    environment["PATH"] = f"{place / 'bin'}{os.pathsep}{environment['PATH']}"
    shell = "zsh" if "completion zsh" in example else "bash"
    done = subprocess.run(
        [shell, "-o", "pipefail", "-c", adapted(example, place, port)],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    ends = next((codes for words, codes in ENDS.items() if example.startswith(words)), (0,))
    assert done.returncode in ends, done.stderr
    assert "Traceback" not in done.stderr
