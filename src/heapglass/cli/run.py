"""`heapglass run`: reads its own arguments, for speed; see `main`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from heapglass.errors import LaunchError
from heapglass.launch import values
from heapglass.launch.launcher import launch
from heapglass.launch.options import RunOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from heapglass.recording.glance import Glance

    Value = TypeVar("Value")

NAME = "run"
HELP = "run a program and record its allocations"

USAGE = """\
usage: heapglass run [OPTION]... [--] COMMAND [ARGUMENT]...

Runs COMMAND. Records every allocation of COMMAND, and of the programs that
COMMAND starts, with its call stack. COMMAND needs no change and no recompiling.
COMMAND keeps its terminal, input, output and exit code.

options:
  -o, --output FILE      record to FILE (default: %e.%p.heapglass in the current
                         directory); see "names" below. none: make text outputs
                         alone, and no recording
  -f, --force            replace FILE if it is a recording
  -q, --quiet            print nothing but errors
      --pack             leave recordings packed, as 'heapglass pack' does: a
                         tenth of the size or less, with all names. ^C ends
                         packing; the other recordings stay unpacked
      --depth N          keep at most N frames of a stack, 1 to 4096
                         (default: 256)
      --no-follow        record COMMAND only, not the programs it starts
      --snapshot SECONDS time between two snapshots, such as 1 or 0.25; 0: none
                         (default: 1)
      --snapshot-churn SIZE
                         take a snapshot also whenever SIZE bytes were allocated
                         and freed, such as 64M; 0: never (default: 0)
      --snapshot-log FILE
                         write also a text log of all sources of memory, each
                         time 1M was allocated and freed, or the SIZE of
                         --snapshot-churn
      --pmem             write this log to pmem.%p.log
      --leaks            list on stderr the blocks that are live when a program
                         ends, with their call stacks
      --leaks-to FILE    write this list to FILE
      --fail             exit with 1 if COMMAND ended with 0 and leaked, by the
                         rules of 'heapglass leaks --fail'
      --memory SIZE      let heapglass take SIZE bytes at most, such as 512M, at
                         least 4M; events that do not fit are counted as lost
                         (default: no limit)
      --sample [SIZE]    record only some blocks: one in SIZE bytes on average,
                         from 256 to 1G, rounded up to a power of two (without
                         SIZE: 512k). Numbers of call sites become estimates
                         with an error; totals stay exact. auto: record all
                         blocks while recording takes no more than 3% of the
                         processor time, or the share in HEAPGLASS_BUDGET; else
                         record samples
      --report SECONDS   print a report on stderr every SECONDS seconds: totals,
                         live blocks by size and by age
      --report-to FILE   append the reports to FILE (default: every 5 seconds)
      --socket PATH      answer at PATH with the live table while COMMAND runs;
                         'nc -U PATH' shows the table
      --core             put the recording into cores of the processes, by a
                         crash or gcore, for 'heapglass core'
      --log FILE         write a text log of each call, for 'heapglass log';
                         FILE may have the placeholders of "names"
      --log-fd N         write the log to descriptor N (without --log and
                         --log-fd: to descriptor 1022 if 1022 is open)
      --log-stacks       write the call stack of each entry into the log
      --trace            print a line on stderr for each call
  -h, --help             print this

names:
  Each process writes a file of its own. FILE may have placeholders:
    %p  the process id
    %e  the name that the process was started by
    %h  the host
    %t  the start time, in seconds since 1970
    %n  the first number, from 0, that makes a new name
    %%  a percent sign
  Where a name is taken, the process id or a number is added to the name. A file
  is overwritten only with --force.

exit status:
  COMMAND's own, or one of these:
    1        with --fail: COMMAND ended with 0 and leaked
    125      heapglass itself failed
    126      COMMAND cannot be executed
    127      COMMAND was not found
    128 + N  signal N ended COMMAND

signals:
  Signals that are sent to heapglass are handed on to COMMAND. Keys such as ^C
  and ^Z reach COMMAND as they do without heapglass. SIGPIPE and SIGXFSZ have
  their defaults in COMMAND, even if heapglass was started with these signals
  ignored. env(1) can ignore these signals again.

environment:
  These variables hold where the option is not given: HEAPGLASS_OUT,
  HEAPGLASS_QUIET, HEAPGLASS_DEPTH, HEAPGLASS_FOLLOW, HEAPGLASS_SNAPSHOT,
  HEAPGLASS_CHURN, HEAPGLASS_SNAPSHOT_LOG, HEAPGLASS_PMEM, HEAPGLASS_LEAKS,
  HEAPGLASS_MEMORY, HEAPGLASS_SAMPLE, HEAPGLASS_REPORT, HEAPGLASS_REPORT_TO,
  HEAPGLASS_SOCKET, HEAPGLASS_CORE, HEAPGLASS_LOG, HEAPGLASS_LOG_FD,
  HEAPGLASS_LOG_STACKS and HEAPGLASS_TRACE.
  These have no option:
    HEAPGLASS_LOG_FULL=drop    drop entries where the reader of a log on
                               descriptor 1022 is slow
    HEAPGLASS_LOG_FLUSH=entry  write each entry of the log at once
    HEAPGLASS_PAUSED=1         record nothing until the program calls
                               heapglass_resume()
  Libraries in LD_PRELOAD stay there, behind heapglass's library. Where the
  current directory is not writable, recordings go to TMPDIR, or to /tmp.

examples:
  heapglass run ./server --port 8080
  heapglass run -o before.heapglass -- sqlite3 data.db 'select count(*) from t'
  heapglass run -q --no-follow make
  heapglass run --leaks --fail ./program
  heapglass run --sample auto ./server
  heapglass run --socket /tmp/server.%p.sock ./server
  heapglass run --log calls.log --log-stacks ./program
"""

_SHORT = {"o": "output", "f": "force", "q": "quiet", "h": "help"}
_WITH_VALUE = {"output", "depth", "snapshot", "snapshot-churn", "memory", "sample"}
_WITH_VALUE |= {"report", "report-to", "socket", "snapshot-log", "leaks-to", "log", "log-fd"}
_SWITCHES = {"force", "quiet", "no-follow", "core", "pmem", "leaks", "log-stacks", "trace", "help"}
_SWITCHES |= {"pack", "fail"}
_PMEM_LOG = "pmem.%p.log"


def run(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    if options is None:
        print(USAGE, end="")
        return 0
    own: list[str] = []  # the recordings of COMMAND: one that replaces itself leaves several

    def finish(pid: int, recorded: Sequence[Glance], tell: Callable[[str], None]) -> None:
        own.extend(found.path for found in recorded if found.header.pid == pid)
        if options.is_packed:
            _pack(recorded, tell)

    code = launch(options, finish)
    if options.fails_on_leaks and code == 0:
        code = _judge(own)
    # Not back to the interpreter: taking itself apart takes it 5 ms, and nothing is left in it that
    # has to be closed or written.
    os._exit(code)


def _pack(recorded: Sequence[Glance], tell: Callable[[str], None]) -> None:
    """Behind the last lines, what no process writes any more."""
    from heapglass.cli.pack import pack_in_place  # noqa: PLC0415 (takes long)
    from heapglass.cli.progress import SlowLine  # noqa: PLC0415
    from heapglass.launch.process import interruptible  # noqa: PLC0415
    from heapglass.recording.file.liveness import RUNNING  # noqa: PLC0415

    ended = [found.path for found in recorded if found.state != RUNNING]
    if len(ended) < len(recorded):
        tell("recordings of processes that still run are not packed")
    with interruptible():
        pack_in_place(ended, tell, SlowLine())


def _judge(recordings: Sequence[str]) -> int:
    from heapglass.cli.leak_verdict import judge  # noqa: PLC0415 (takes long)
    from heapglass.launch.process import interruptible  # noqa: PLC0415

    with interruptible():
        return judge(recordings)


def parse(arguments: Sequence[str]) -> RunOptions | None:
    """None: help was asked for. A LaunchError says what does not make sense."""
    given, command = _split(arguments)
    if "help" in given:
        return None
    if not command:
        raise _usage_error("there is no command to run")
    return RunOptions(
        command=command,
        output=given.get("output"),
        is_forced="force" in given,
        is_quiet="quiet" in given,
        is_packed="pack" in given,
        follows_children="no-follow" not in given,
        depth=_read("depth", given.get("depth"), values.read_depth),
        snapshot_seconds=_read("snapshot", given.get("snapshot"), values.read_seconds),
        churn_bytes=_read("snapshot-churn", given.get("snapshot-churn"), values.read_churn),
        memory_bytes=_read("memory", given.get("memory"), values.read_memory),
        fails_on_leaks="fail" in given,
        sample=_read("sample", given.get("sample"), values.read_sample),
        report_seconds=_read("report", given.get("report"), values.read_seconds),
        report_to=given.get("report-to"),
        socket=given.get("socket"),
        has_core="core" in given,
        snapshot_log=given.get("snapshot-log") or (_PMEM_LOG if "pmem" in given else None),
        leaks=given.get("leaks-to") or ("1" if "leaks" in given else None),
        log=given.get("log"),
        log_fd=_read("log-fd", given.get("log-fd"), values.read_descriptor),
        has_log_stacks="log-stacks" in given,
        has_trace="trace" in given,
    )


def _split(arguments: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The options given and, from the first word that is none, the command."""
    given: dict[str, str] = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, value = _long(word) if word.startswith("--") else _short(word, rest)
        if name == "sample" and value is None and not (rest and values.is_sample(rest[0])):
            given[name] = values.DEFAULT_SAMPLE
        elif name in _WITH_VALUE:
            given[name] = _value(word, value, rest)
        else:
            given[name] = ""
    return given, tuple(rest)


def _long(word: str) -> tuple[str, str | None]:
    name, equals, value = word[2:].partition("=")
    if name in _SWITCHES and equals:
        raise _usage_error(f"--{name} takes no value")
    if name not in _SWITCHES | _WITH_VALUE:
        raise _usage_error(f"there is no option --{name}")
    return name, value if equals else None


def _short(word: str, rest: list[str]) -> tuple[str, str | None]:
    """The first of a cluster such as -fq; the others go back to `rest`."""
    name = _SHORT.get(word[1])
    if name is None:
        raise _usage_error(f"there is no option -{word[1]}")
    if name in _WITH_VALUE:
        return name, word[2:] or None
    if word[2:]:
        rest.insert(0, "-" + word[2:])
    return name, None


def _value(word: str, value: str | None, rest: list[str]) -> str:
    if value is None and not rest:
        raise _usage_error(f"{word} needs a value")
    found = rest.pop(0) if value is None else value
    if not found:
        raise _usage_error(f"{word.partition('=')[0]} needs a value that is not empty")
    return found


def _read(option: str, text: str | None, read: Callable[[str], Value]) -> Value | None:
    if text is None:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise _usage_error(f"--{option}: {error}") from None


def _usage_error(problem: str) -> LaunchError:
    return LaunchError(f"{problem}; see 'heapglass run --help'")
