"""`heapglass run` from the first check to the last line."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import ModuleType

from heapglass.errors import LaunchError
from heapglass.launch import naming
from heapglass.launch.environment import (
    Environment,
    environment_without,
    inherited_environment,
    recording_environment,
)
from heapglass.launch.library import library_path, preload_path
from heapglass.launch.options import RunOptions
from heapglass.launch.process import Ending, RecordedProcess
from heapglass.launch.program import Program, find_program
from heapglass.launch.session import Session
from heapglass.launch.settings import complete
from heapglass.launch.voice import say, short_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from heapglass.recording.glance import Glance

    Tell: TypeAlias = Callable[[str], None]
    Finish: TypeAlias = Callable[[int, list[Glance], Tell], None]

_TEXT_ALONE = (
    "no recording is made (none): what --log, --trace, --report, --socket, --snapshot-log and"
    " --leaks write, and cores, tell of this run"
)


def launch(options: RunOptions, finish: Finish) -> int:
    """Run the program to its end, then `finish` what was recorded, if anything was: it gets the
    program's process id, too. The program's exit code; LaunchError when it was not started."""
    inherited = inherited_environment()
    options, troubles = complete(options, inherited)
    program = find_program(
        options.command, _text(inherited, b"PATH"), _text(inherited, b"LD_PRELOAD")
    )
    program = program._replace(notes=(*troubles, *program.notes))
    tell = _silence if options.is_quiet else say
    if not program.bears_library:
        return _run_bare(program, inherited, tell)
    return _record(program, options, inherited, tell, finish)


def _run_bare(program: Program, inherited: Environment, tell: Tell) -> int:
    for note in program.notes:
        tell(note)
    environment = environment_without(inherited, preload_path(library_path()))
    process = RecordedProcess(program.path, program.argv, environment)
    return process.wait(meanwhile=_do_nothing).exit_code


def _record(
    program: Program,
    options: RunOptions,
    inherited: Environment,
    tell: Tell,
    finish: Finish,
) -> int:
    library = preload_path(library_path())
    temporary = _text(inherited, b"TMPDIR") or "/tmp"  # noqa: S108 (as mktemp does)
    template = _template(options, temporary)
    for note in program.notes:
        tell(note)
    session = os.urandom(8).hex()
    environment = recording_environment(inherited, options, library, template, session)
    started = time.time()
    process = RecordedProcess(program.path, program.argv, environment)
    if template == naming.NO_RECORDING:
        tell(_TEXT_ALONE)
        return process.wait(meanwhile=_do_nothing).exit_code
    if program.recorded_as:
        path = naming.expand(template, process.pid, program.name) or template
        tell(f"recording to {short_name(path, working_directory())}")
    ending = process.wait(meanwhile=_prepare_closing)
    directory = naming.expand(os.path.dirname(template), process.pid, program.name) or ""
    made = Session(int(session, 16), template, directory, temporary, started)
    wanted = naming.expand(template, process.pid, program.name) or ""
    recorded = _close(made, process.pid, ending, wanted, tell)
    finish(process.pid, recorded, tell)
    return ending.exit_code


def _close(session: Session, pid: int, ending: Ending, wanted: str, tell: Tell) -> list[Glance]:
    """Close the recordings, and tell of them. `wanted`: the name of the program's."""
    glances: list[Glance] = []
    told: list[str] = []
    if session.candidates():
        closing, report = _prepare_closing()
        glances, troubles = closing.close_recordings(session, pid, ending)
        if glances:
            told = list(report.closing_lines(glances, pid, session, working_directory()))
        told += troubles
    if session.is_lost(wanted, [g.path for g in glances]):
        told.append(_lost_line(wanted))
    # Which of the two, the library alone knows: where it could not, it said so on stderr.
    told = told or ["nothing was recorded: no allocation was seen, or no recording could be made"]
    for line in told:
        tell(line)
    return glances


def _lost_line(path: str) -> str:
    name = short_name(path, working_directory())
    return (
        f"{name} is not the recording of this run any more: while the program ran, something else"
        " was written over it, or it was cut short; leave it alone until the program has ended"
    )


def _prepare_closing() -> tuple[ModuleType, ModuleType]:
    """Import what only the end of a run needs; done while the program runs, if it runs a while."""
    from heapglass.launch import closing, report  # noqa: PLC0415

    return closing, report


def _silence(_line: str) -> None:
    pass


def _do_nothing() -> None:
    pass


def _text(environment: Environment, name: bytes) -> str | None:
    value = environment.get(name)
    return None if value is None else os.fsdecode(value)


def _template(options: RunOptions, temporary: str) -> str:
    if options.output is not None:
        template = naming.template_for(options.output)
        if template == naming.NO_RECORDING and options.is_packed:
            raise LaunchError("--pack is for recordings, and with 'none' there is none")
        naming.clear_way(template, force=options.is_forced)
        return template
    template, why_elsewhere = naming.default_template(temporary)
    if why_elsewhere and not options.is_quiet:
        say(f"{why_elsewhere}: recordings go to {os.path.abspath(temporary)}")
    return template


def working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
