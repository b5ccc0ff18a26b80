"""Others' hands on the file of a live recording: they may end the recording, never the program."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness import soak
from harness.bench import Bench
from harness.cli import Cli
from harness.programs import program
from harness.running import Outcome, bare_setting, library, run, under_heapglass
from heapglass.recording import open_recording, schema

PATIENCE_S = 60.0


@dataclass(slots=True)
class Besieged:
    """A program at work, until it is let go."""

    process: subprocess.Popen[bytes]
    directory: Path
    files: list[Path] = field(default_factory=list)

    @property
    def recording(self) -> Path:
        return self.directory / "live.heapglass"

    def let_go(self) -> Outcome:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Outcome(self.process.returncode, b"ready\n" + out, err)


@contextmanager
def besieged(
    directory: Path, *arguments: str, pass_fds: tuple[int, ...] = (), **environment: str
) -> Iterator[Besieged]:
    given = {"HEAPGLASS_QUIET": "1", "HEAPGLASS_OUT": "live.heapglass", "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        program("besieged").argv(arguments or ("none",)),
        cwd=directory,
        env={**os.environ, **given, "LD_PRELOAD": library(), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield Besieged(process, directory)
    finally:
        process.kill()
        process.communicate()


def plain(directory: Path, *arguments: str) -> Outcome:
    return run(program("besieged").argv(arguments or ("none",)), directory)


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.005)


def used_bytes(path: Path) -> int:
    with path.open("rb") as file:
        return schema.Header(file.read(4096)).used


# ---- cut short, or written over --------------------------------------------------------


def empty(path: Path, _other: Path) -> None:
    path.open("wb").close()


def to_a_page(path: Path, _other: Path) -> None:
    os.truncate(path, 4096)


def to_half(path: Path, _other: Path) -> None:
    os.truncate(path, used_bytes(path) // 2)


def copy_other(path: Path, other: Path) -> None:
    shutil.copyfile(other, path)  # as cp does: the same file, cut, then written


def write_header(path: Path, other: Path) -> None:
    """Another recording's header, and nothing else: no page is gone."""
    with path.open("r+b") as file:
        file.write(other.read_bytes()[:4096])


DAMAGES = [empty, to_a_page, to_half, copy_other, write_header]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("other")
    run(program("hammer").argv(("1",)), directory, under_heapglass(HEAPGLASS_OUT="other.heapglass"))
    return directory / "other.heapglass"


@pytest.mark.parametrize("setting", ["none", "default", "ignore", "handler", "reset"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_recording_does_not_touch_its_program(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None], setting: str
) -> None:
    with besieged(bench.fresh("siege"), setting) as siege:
        damage(siege.recording, other)
        time.sleep(0.05)  # more than enough for four threads to meet it
        outcome = siege.let_go()
    assert outcome == plain(bench.fresh("plain"), setting)


@pytest.mark.parametrize("more", ["sleep", "exec", "fork"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_met_at_the_end_and_by_children(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None], more: str
) -> None:
    """A sleeping program meets it in exit or exec; forked children never had it."""
    with besieged(bench.fresh("siege"), "none", more) as siege:
        damage(siege.recording, other)
        outcome = siege.let_go()
    assert outcome == plain(bench.fresh("plain"), "none", more)


@pytest.mark.parametrize("more", ["", "sleep"])
@pytest.mark.parametrize("damage", [copy_other, write_header])
def test_nothing_is_written_into_a_strangers_recording(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None], more: str
) -> None:
    with besieged(bench.fresh("siege"), "none", *([more] if more else [])) as siege:
        # What is in the middle of an event when the header changes may still count it.
        damage(siege.recording, other)
        if more != "sleep":
            time.sleep(0.1)
        before = siege.recording.read_bytes()
        if damage is copy_other and more == "sleep":
            assert before == other.read_bytes()
        siege.let_go()
        assert siege.recording.read_bytes() == before


@pytest.mark.parametrize("damage", [to_a_page, to_half])
def test_the_file_says_what_became_of_it_if_its_header_is_left(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None]
) -> None:
    with besieged(bench.fresh("siege")) as siege:
        damage(siege.recording, other)
        siege.let_go()
        header = schema.Header(siege.recording.read_bytes()[:4096])
    assert schema.LADDERS[header.ladder] == "off"
    assert schema.REASONS[header.ladder_reason] == "file_lost"
    assert (header.state, header.exit_status) == (schema.STATE_EXITED, 7)
    assert header.end_ns >= header.ladder_ns, "both 0 in the coarse clock's first tick"


def test_a_file_that_only_got_longer_is_no_damage(bench: Bench) -> None:
    with besieged(bench.fresh("siege")) as siege:
        with siege.recording.open("ab") as file:
            file.write(b"x")
        siege.let_go()
        with open_recording(siege.recording) as source:
            assert source.losses.ladder == "recording"
            assert source.totals.live_blocks < 20


# ---- who says so -----------------------------------------------------------------------

LOST = "its file was cut short, or its disk failed"
STRANGER = "something else was written over its file"


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_closing_line_of_a_run_says_so(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None]
) -> None:
    directory = bench.fresh("run")
    heapglass = Cli(directory)
    process = subprocess.Popen(
        heapglass.argv("run", "-o", "live.heapglass", *program("besieged").argv(("none",))),
        cwd=directory,
        env=heapglass.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    damage(directory / "live.heapglass", other)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 7
    assert out == b"default 0 0\ndamaged 0, called 0\n"
    assert b"live.heapglass is not the recording of this run any more" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize(("damage", "why"), [(empty, LOST), (write_header, STRANGER)])
def test_leaks_at_exit_are_not_known(
    bench: Bench, other: Path, damage: Callable[[Path, Path], None], why: str
) -> None:
    with besieged(bench.fresh("siege"), HEAPGLASS_LEAKS="leaks.txt") as siege:
        damage(siege.recording, other)
        siege.let_go()
        told = (siege.directory / "leaks.txt").read_text()
    assert told.endswith(f"not known, recording has ended: {why}\n")
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("more", [(), ("sleep",)])
def test_a_report_says_so(bench: Bench, other: Path, more: tuple[str, ...]) -> None:
    reports = {"HEAPGLASS_REPORT": "0.05", "HEAPGLASS_REPORT_TO": "reports.txt"}
    with besieged(bench.fresh("siege"), "none", *more, **reports) as siege:
        file = siege.directory / "reports.txt"
        until(lambda: file.exists() and b">>>" in file.read_bytes())
        empty(siege.recording, other)
        until(lambda: f"(recording has ended: {LOST})" in file.read_text())
        assert siege.let_go().status == 7


def test_the_socket_says_so(bench: Bench, other: Path) -> None:
    def ask(request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(siege.directory / "s"))
            client.sendall(request)
            client.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: client.recv(65536), b""))

    with besieged(bench.fresh("siege"), HEAPGLASS_SOCKET="s") as siege:
        until((siege.directory / "s").exists)
        assert b"allocs = " in ask(b"text\n")
        empty(siege.recording, other)
        wanted = f"recording has ended: {LOST}".encode()
        until(lambda: wanted in ask(b"text\n"))
        assert ask(b"summary\n") == b"heapglass: " + wanted + b"\n"
        assert ask(b"json\n").startswith(b'{\n  "error": "' + wanted)
        assert siege.let_go().status == 7


@pytest.mark.parametrize("more", [(), ("sleep",)])
def test_the_log_says_so(bench: Bench, other: Path, more: tuple[str, ...]) -> None:
    with besieged(bench.fresh("siege"), "none", *more, HEAPGLASS_LOG="log.txt") as siege:
        empty(siege.recording, other)
        assert siege.let_go().status == 7
        *_, note, end, _ = (siege.directory / "log.txt").read_bytes().splitlines()
    assert note == f"# NOTE recording has ended before, and this log with it: {LOST}".encode()
    assert b"FINI" in end


# ---- bytes inside of it ----------------------------------------------------------------

MODES: Mapping[str, Mapping[str, str]] = {
    "exact": {},
    "sampled": {"HEAPGLASS_SAMPLE": "2048"},
    "reports": {"HEAPGLASS_REPORT": "0.02", "HEAPGLASS_REPORT_TO": "reports.txt"},
    "leaks": {"HEAPGLASS_LEAKS": "leaks.txt"},
    "snapshots": {"HEAPGLASS_PMEM": "1", "HEAPGLASS_CHURN": "200K"},
    "log": {"HEAPGLASS_LOG": "log.txt"},
}


def scribble(fd: int, chance: random.Random, start: int) -> None:
    """Over what is there: numbers too large by far, and such as could be true."""
    length = chance.choice([4, 8, 64, 4096, 65536])
    place = chance.randrange(start, 24 << 20)
    with suppress(OSError):  # there is nothing behind that
        place = max(start, os.lseek(fd, place, os.SEEK_DATA))
        kind = chance.random()
        word = chance.randrange(1 << 20).to_bytes(4, "little")
        data = (
            chance.randbytes(length)
            if kind < 0.5
            else b"\xff" * length
            if kind < 0.7
            else word * (length // 4)
        )
        if chance.random() < 0.9:
            place &= ~7
        os.pwrite(fd, data, max(start, place))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(soak.amount(8, 2)))
def test_random_bytes_do_no_harm(bench: Bench, mode: str, seed: int) -> None:
    """With every other seed the header is left alone, and so nothing ends."""
    chance = random.Random(f"{mode} {seed}")  # noqa: S311
    start = 4096 if seed % 2 else 0
    with besieged(bench.fresh("siege"), **MODES[mode]) as siege:
        fd = os.open(siege.recording, os.O_RDWR)
        for _ in range(150):
            scribble(fd, chance, start)
            time.sleep(chance.choice([0, 0.0002, 0.002]))
        outcome = siege.let_go()
        os.close(fd)
    assert outcome == plain(bench.fresh("plain"))


# ---- SIGBUS is the program's -----------------------------------------------------------

SETTINGS = ["functions", "sent", "fault", "fork", "view", "hand-on"]
DEATHS = ["dies-of-fault", "dies-ignoring", "dies-of-raise", "dies-of-kill"]


@pytest.mark.parametrize("what", [*SETTINGS, *DEATHS])
def test_sigbus_is_the_programs(bench: Bench, what: str) -> None:
    # Children are not recorded, which would show in what /proc says of them.
    setting = under_heapglass(HEAPGLASS_FOLLOW="0")
    bench.compare(program("bus_settings").argv((what,)), setting)


@pytest.mark.parametrize("what", SETTINGS)
def test_with_an_output_that_has_a_thread(bench: Bench, what: str) -> None:
    setting = under_heapglass(HEAPGLASS_FOLLOW="0", HEAPGLASS_SOCKET="s")
    argv = program("bus_settings").argv((what,))
    glass = run(argv, bench.fresh("glass"), setting)
    assert glass == run(argv, bench.fresh("plain"), bare_setting(setting))


def test_a_program_that_inherits_ignoring_goes_on_so(bench: Bench) -> None:
    """From what starts it, and to what it starts: also recorded children show it."""
    view = program("bus_settings").argv(("view",))
    script = 'trap \'\' BUS; "$@"; sh -c \'"$@"\' sh "$@"'
    argv = ["sh", "-c", script, "sh", *view]
    setting = under_heapglass()
    glass = run(argv, bench.fresh("glass"), setting)
    assert glass == run(argv, bench.fresh("plain"), bare_setting(setting))
    assert glass.stdout.count(b"ignored") == 2
