"""Names of recordings: placeholders, names already taken, directories that refuse."""

from __future__ import annotations

import re
import socket
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from harness.bench import Bench
from harness.cli import Cli
from harness.programs import program
from harness.running import Outcome, run, under_heapglass
from heapglass.recording import open_recording

EXITS = program("exits").argv(("return",))
NAME = Path(EXITS[0]).name


def record(directory: Path, **environment: str) -> Outcome:
    return run(EXITS, directory, under_heapglass(**environment))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_default_name_and_mode(bench: Bench) -> None:
    where = bench.fresh("plain")
    record(where)
    [path] = where.iterdir()
    source = open_recording(path)
    assert path.name == f"{NAME}.{source.process.pid}.heapglass"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_mode_is_kept_private_whatever_the_umask(bench: Bench) -> None:
    where = bench.fresh("umask")
    setting = replace(under_heapglass(), prefix=["sh", "-c", 'umask 0; exec "$@"', "sh"])
    run(EXITS, where, setting)
    [path] = where.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_placeholders(bench: Bench) -> None:
    where = bench.fresh("names")
    record(where, HEAPGLASS_OUT="%e-%p-%h-%t-%n-%%-%q.rec")
    [name] = names_in(where)
    host = re.escape(socket.gethostname())
    assert re.fullmatch(rf"{re.escape(NAME)}-\d+-{host}-\d{{10}}-\d+-%-%q\.rec", name)


def test_a_program_has_the_name_that_it_was_started_by(bench: Bench, cli: Cli) -> None:
    """Not that of the file behind a link; of a script its own, not its interpreter's."""
    link, script = cli.directory / "redis-server", cli.directory / "tool.sh"
    link.symlink_to(EXITS[0])
    script.write_text("#!/bin/sh\n:\n")
    script.chmod(0o755)
    for argv in ([str(link), *EXITS[1:]], [str(script)]):
        done = cli("run", "--", *argv)
        name = Path(argv[0]).name
        assert f"recording to {name}." in done.stderr
        assert re.search(rf"^heapglass: {re.escape(name)} \(\d+\) ran ", done.stderr, re.MULTILINE)
        [path] = cli.directory.glob(f"{name}.*.heapglass")
        process = open_recording(path).process
        assert (process.name, process.title) == (name, "")
        assert Path(process.executable).name != name
    # What it calls itself is not what it is called.
    where = bench.fresh("argv0")
    run(["bash", "-c", 'exec -a -odd "$@"', "bash", *EXITS], where, under_heapglass())
    [path] = where.glob(f"{NAME}.*")
    assert open_recording(path).process.argv[0] == "-odd"


def test_a_program_started_by_its_descriptor_has_its_files_name(bench: Bench) -> None:
    code = "import os, sys; os.execve(os.open(sys.argv[1], os.O_RDONLY), sys.argv[1:], os.environ)"
    where = bench.fresh("descriptor")
    run([sys.executable, "-c", code, *EXITS], where, under_heapglass())
    assert list(where.glob(f"{NAME}.*"))


@pytest.mark.parametrize("place", ["given.rec", "{directory}/given.rec"])
def test_a_taken_name_gets_the_pid_and_then_a_number(bench: Bench, place: str) -> None:
    where = bench.fresh("taken")
    out = place.format(directory=where)
    (where / "given.rec").write_bytes(b"precious")
    record(where, HEAPGLASS_OUT=out)
    [fresh] = [name for name in names_in(where) if name != "given.rec"]
    assert fresh == f"given.rec.{open_recording(where / fresh).process.pid}"
    assert (where / "given.rec").read_bytes() == b"precious"


def test_processes_that_want_the_same_name_at_once(bench: Bench) -> None:
    where = bench.fresh("race")
    setting = under_heapglass(HEAPGLASS_OUT="given.rec")
    with ThreadPoolExecutor(8) as together:
        list(together.map(lambda _: run(EXITS, where, setting), range(8)))
    pids = {name: open_recording(where / name).process.pid for name in names_in(where)}
    assert len(set(pids.values())) == 8
    assert sorted(name for name in pids if name != "given.rec") == sorted(
        f"given.rec.{pid}" for name, pid in pids.items() if name != "given.rec"
    )


def test_a_counter_takes_the_next_free_number(bench: Bench) -> None:
    where = bench.fresh("count")
    for _ in range(3):
        record(where, HEAPGLASS_OUT="n%n.rec")
    assert len(names_in(where)) == 3
    numbers = [int(name[1:-4]) for name in names_in(where)]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_execs_of_one_pid_get_numbers_before_the_suffix(bench: Bench) -> None:
    where = bench.fresh("exec")
    run(program("spawn").argv(("exec",)), where, under_heapglass())
    names = names_in(where)
    [stem] = {name.split(".")[0] + "." + name.split(".")[1] for name in names}
    numbers = ["", *(f".{n}" for n in range(2, 11))]
    assert names == sorted(f"{stem}{number}.heapglass" for number in numbers)


def test_children_get_the_pid_appended_to_a_given_name(bench: Bench) -> None:
    where = bench.fresh("kids")
    run(program("fork").argv(("plain",)), where, under_heapglass(HEAPGLASS_OUT="given.rec"))
    pids = {name: open_recording(where / name).process.pid for name in names_in(where)}
    [child] = [name for name in pids if name != "given.rec"]
    assert child == f"given.rec.{pids[child]}"


def test_a_given_name_is_where_we_were_when_the_program_moved(bench: Bench) -> None:
    where = bench.fresh("moved")
    daemon = program("daemon").argv((str(where / "log"),))
    run(daemon, where, under_heapglass(HEAPGLASS_OUT="given.rec"))
    assert "given.rec" in names_in(where)
    assert not Path("/given.rec").exists()


def test_a_directory_that_refuses_sends_us_to_tmpdir(bench: Bench) -> None:
    where, elsewhere = bench.fresh("none"), bench.fresh("tmp")
    outcome = run(
        EXITS,
        where,
        under_heapglass(HEAPGLASS_OUT="missing/x.rec", TMPDIR=str(elsewhere), HEAPGLASS_QUIET="0"),
    )
    assert outcome.status == 2
    [name] = names_in(elsewhere)
    assert names_in(where) == []
    assert str(elsewhere / name) in outcome.stderr.decode()


def test_nowhere_to_write_is_said_and_the_program_runs(bench: Bench) -> None:
    where = bench.fresh("none")
    outcome = record(where, HEAPGLASS_OUT="missing/x.rec", TMPDIR="/proc/missing")
    assert (outcome.status, outcome.stdout) == (2, b"ending by return\n")
    assert len(outcome.stderr.splitlines()) == 1
    assert names_in(where) == []


def test_nothing_is_said_when_all_is_well(bench: Bench) -> None:
    assert record(bench.fresh("quiet"), HEAPGLASS_QUIET="0").stderr == b""
