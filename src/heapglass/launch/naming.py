"""Where the recordings of a run go: the template the library fills in, and the names it makes.

Placeholders, as the library has them: %p process id, %e the program's name, %h host, %t start time,
%n the first number that makes the name new, %% a percent sign.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from heapglass.errors import LaunchError

DEFAULT_NAME = "%e.%p.heapglass"
NO_RECORDING = "none"  # in place of a name: the library keeps its tables in memory
PLACEHOLDERS = "pehtn"
_SHARED = "/dev/shm/"  # noqa: S108 (not used, but known for what it is)
_MAGICS = (b"heapgls\n", b"heapgpk\n")  # as it is recorded, and packed


def escape(path: str) -> str:
    """`path` as a template that stands for itself."""
    return path.replace("%", "%%")


def template_for(output: str) -> str:
    """The absolute template for what was given with --output; LaunchError when it cannot work."""
    if output == NO_RECORDING:
        return output
    _check_placeholders(output)
    directory, name = os.path.split(output)
    if not name or os.path.isdir(output):
        raise LaunchError(
            f"{output} is a directory: name a file in it, such as "
            f"{os.path.join(output, DEFAULT_NAME)}"
        )
    if "%" not in directory:
        _check_directory(directory or ".", output)
    if os.path.isabs(output):
        return output
    return os.path.join(escape(os.getcwd()), output)


def default_template(temporary: str) -> tuple[str, str]:
    """The template when none was given, and why it is not in the current directory, if not."""
    try:
        directory, reason = os.getcwd(), ""
    except OSError:
        directory, reason = "", "the current directory is gone"
    if directory and _is_kernels(directory):
        reason = "no files are made in /dev, /proc or /sys"
    elif directory and not _is_writable(directory):
        reason = "the current directory is not writable"
    if reason:
        directory = os.path.abspath(temporary)
        _check_directory(directory, directory)
    return os.path.join(escape(directory), DEFAULT_NAME), reason


def clear_way(template: str, *, force: bool) -> None:
    """Nothing is overwritten: LaunchError when the one file `template` names is there already,
    unless it is a recording, which is removed with `force`."""
    literal = _literal(template)
    if literal is None or template == NO_RECORDING or not os.path.lexists(literal):
        return
    if not _is_recording(literal):
        raise LaunchError(
            f"{literal} exists already and is no recording, so it is not replaced: "
            "use another name for --output"
        )
    if not force:
        raise LaunchError(
            f"{literal} exists already: use --force to replace it, or another name for --output"
        )
    os.unlink(literal)


def expand(template: str, pid: int, name: str) -> str | None:
    """The recording's name, or None when only the process itself can know it (%t, %n). `name` is
    the program's."""
    values = {"p": str(pid), "e": name, "h": os.uname().nodename}
    parts = [values.get(key) if key else text for text, key in _parts(template)]
    known = [part for part in parts if part is not None]
    return "".join(known) if len(known) == len(parts) else None


def could_be(name: str, template: str) -> bool:
    """Whether `name` may come from `template`. Never False for one that does; who made a file is
    decided by the session in it."""
    return all(text in name for text, _ in _parts(os.path.basename(template)))


def _literal(template: str) -> str | None:
    parts = list(_parts(template))
    return None if any(key for _, key in parts) else "".join(text for text, _ in parts)


def _parts(template: str) -> Iterator[tuple[str, str]]:
    """Split into (text, "") and ("", placeholder). A percent sign at the end is just that."""
    percent = "%"
    while percent:
        text, percent, template = template.partition("%")
        yield text, ""
        key, template = template[:1], template[1:]
        if percent:
            yield ("%", "") if key in ("%", "") else ("", key)


def _check_placeholders(output: str) -> None:
    for _, key in _parts(output):
        if key and key not in PLACEHOLDERS:
            raise LaunchError(
                f"%{key} in {output} stands for nothing: there are %p (process), %e (program), "
                "%h (host), %t (start time), %n (number) and %% (a percent sign)"
            )


def _check_directory(directory: str, output: str) -> None:
    if _is_kernels(directory):
        raise LaunchError(
            f"cannot record to {output}: no files are made in /dev, /proc or /sys"
            f" (-o {NO_RECORDING} makes no recording)"
        )
    if not os.path.isdir(directory):
        raise LaunchError(f"cannot record to {output}: there is no directory {directory}")
    if not _is_writable(directory):
        raise LaunchError(f"cannot record to {output}: {directory} is not writable")


def _is_kernels(directory: str) -> bool:
    """Whether files there would be among the kernel's."""
    place = os.path.realpath(directory) + "/"
    return place.startswith(("/dev/", "/proc/", "/sys/")) and not place.startswith(_SHARED)


def _is_writable(directory: str) -> bool:
    return os.access(directory, os.W_OK | os.X_OK)


def _is_recording(path: str) -> bool:
    """A regular file, no link to one, that begins as a recording does or is empty. One that we may
    not read is another's."""
    if os.lstat(path).st_mode & 0o170000 != 0o100000:
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGICS[0])) in (*_MAGICS, b"")
    except PermissionError:
        return False
