"""`heapglass run` from the first check to the last line."""

from __future__ import annotations

import os
import time

from heapglass.launch import naming
from heapglass.launch.environment import Environment, inherited_environment, recording_environment
from heapglass.launch.library import library_path, preload_path
from heapglass.launch.options import RunOptions
from heapglass.launch.process import RecordedProcess
from heapglass.launch.program import Program, find_program
from heapglass.launch.voice import say, short_name


def launch(options: RunOptions) -> int:
    """Run the program to its end; its exit code. LaunchError when it was not started."""
    library = preload_path(library_path())
    inherited = inherited_environment()
    program = find_program(options.command, _text(inherited, b"PATH"))
    temporary = _text(inherited, b"TMPDIR") or "/tmp"  # noqa: S108 (as mktemp does)
    template = _template(options, temporary)
    if not options.is_quiet:
        for note in program.notes:
            say(note)
    session = os.urandom(8).hex()
    environment = recording_environment(inherited, options, library, template, session)
    started = time.time()
    process = RecordedProcess(program.path, program.argv, environment)
    if program.recorded_as and not options.is_quiet:
        _say_start(template, process.pid, program)

    # Imported while the program runs, so that it does not wait for them.
    from heapglass.launch.report import closing_lines  # noqa: PLC0415
    from heapglass.launch.session import Session, close_recordings  # noqa: PLC0415

    ending = process.wait()
    directory = naming.expand(os.path.dirname(template), process.pid, program.recorded_as) or ""
    recordings = Session(int(session, 16), template, directory, temporary, started)
    glances, troubles = close_recordings(recordings, process.pid, ending)
    if not options.is_quiet:
        for line in [*closing_lines(glances, process.pid, _working_directory()), *troubles]:
            say(line)
    return ending.exit_code


def _text(environment: Environment, name: bytes) -> str | None:
    value = environment.get(name)
    return None if value is None else os.fsdecode(value)


def _template(options: RunOptions, temporary: str) -> str:
    if options.output is not None:
        template = naming.template_for(options.output)
        naming.clear_way(template, force=options.is_forced)
        return template
    template, why_elsewhere = naming.default_template(temporary)
    if why_elsewhere and not options.is_quiet:
        say(f"{why_elsewhere}: recordings go to {os.path.abspath(temporary)}")
    return template


def _say_start(template: str, pid: int, program: Program) -> None:
    path = naming.expand(template, pid, program.recorded_as) or template
    say(f"recording to {short_name(path, _working_directory())}")


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
