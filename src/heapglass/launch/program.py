"""The program about to be started: where it is, and what of it can be recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import pairwise

from heapglass.errors import LaunchError
from heapglass.symbols.executable import Executable, describe_executable
from heapglass.symbols.raw import SymbolError
from heapglass.tuples import NamedTuple

SHELL = "/bin/sh"
_DEFAULT_PATH = "/bin:/usr/bin"
_MOST_INTERPRETERS = 4  # as many as the kernel follows
_ST_NOSUID = 2
_ADDRESS_SANITIZER = ("libasan.so", "libclang_rt.asan")  # gcc's and clang's, as it knows itself


class Program(NamedTuple):
    """`path` is what is executed with `argv`; `notes` what the user should know beforehand."""

    path: str
    argv: tuple[str, ...]
    notes: tuple[str, ...]
    recorded_as: str  # the executable, for a script its interpreter; "" when it cannot be recorded
    name: str  # by which the kernel will have started it: the library has it from there
    bears_library: bool = True  # False: with the library in LD_PRELOAD it would fail, or complain


def find_program(
    command: tuple[str, ...], search_path: str | None, preload: str | None = None
) -> Program:
    """Look as execvp() does; LaunchError 127 when there is none, 126 when it cannot be executed.
    `preload` is the LD_PRELOAD that the program would have without us."""
    name = command[0]
    if not name:
        raise LaunchError("the command to run is an empty word", 127)
    path = name if "/" in name else _search(name, search_path)
    _check_executable(path, name)
    chain = list(_chain(path, search_path))
    last, executable = chain[-1]
    started = path
    for (_, one), (inner, _) in pairwise(chain):
        if one and one.script and _is_env(one.script) and inner != one.script[0]:
            started = inner  # by env, which the kernel started in the script's name
    notes: list[str] = []
    if len(chain) == 1 and executable and executable.kind == "other" and _is_text(path):
        # The kernel refuses it; execvp() and every shell then do this.
        notes.append(f"{name} has no #! line: it is run by {SHELL}, which is what is recorded")
        command = (SHELL, path, *command[1:])
        name, path, last, executable = SHELL, SHELL, SHELL, _describe(SHELL)
        started = SHELL
    elif len(chain) > 1:
        notes.append(f"{name} is a script: what is recorded is its interpreter, {last}")
        name = last
    conflict = _conflict(executable, preload or "")
    obstacle = conflict or _obstacle(last, executable)
    if note := obstacle or _doubt(executable):
        notes.append(f"{name} {note}")
    return Program(
        path,
        command,
        tuple(notes),
        "" if obstacle else last,
        os.path.basename(started),
        not conflict,
    )


def _search(name: str, search_path: str | None) -> str:
    denied = ""
    for directory in (_DEFAULT_PATH if search_path is None else search_path).split(":"):
        path = os.path.join(directory or ".", name)
        if _is_executable(path):
            return path
        if not denied and os.path.exists(path):
            denied = path
    if not denied:
        raise LaunchError(f"{name}: command not found", 127)
    return denied


def _is_executable(path: str) -> bool:
    return os.access(path, os.X_OK) and not os.path.isdir(path)


def _check_executable(path: str, name: str) -> None:
    if _is_executable(path):
        return
    if not os.path.lexists(path):
        raise LaunchError(f"{name}: no such file", 127)
    reason = "it is a directory" if os.path.isdir(path) else "it is not executable"
    raise LaunchError(f"{name} cannot be run: {reason}", 126)


def _describe(path: str) -> Executable | None:
    try:
        return describe_executable(path)
    except SymbolError:
        return None  # not readable by us, or damaged: for the kernel to judge


def _is_text(path: str) -> bool:
    with open(path, "rb") as file:
        return b"\0" not in file.read(256)


def _chain(path: str, search_path: str | None) -> Iterator[tuple[str, Executable | None]]:
    """What the kernel will look at: the file, a script's interpreter, that one's, and so on."""
    for _ in range(_MOST_INTERPRETERS):
        executable = _describe(path)
        yield path, executable
        if executable is None or not executable.script:
            return
        path = _behind_env(executable.script, search_path)


def _behind_env(script: tuple[str, ...], search_path: str | None) -> str:
    """The interpreter; for `#!/usr/bin/env python3`, what env will find."""
    interpreter, *arguments = script
    words = " ".join(arguments).split()
    if not _is_env(script) or not words:
        return interpreter
    names = [word for word in words if not word.startswith("-") and "=" not in word]
    try:
        return _search(names[0], search_path) if names else interpreter
    except LaunchError:
        return interpreter


def _is_env(script: tuple[str, ...]) -> bool:
    return os.path.basename(script[0]) == "env"


def _conflict(executable: Executable | None, preload: str) -> str:
    """Why the program would not run as without us if LD_PRELOAD named the library, or "".

    AddressSanitizer ends a program in which another library is loaded before its own; told not to,
    it shows our hooks in the stacks of its reports. The loader complains of a library that is not
    for the program's processor.
    """
    if executable and executable.is_static:
        return ""
    unseen = "neither it nor what it starts can be recorded"
    if executable and executable.kind == "elf" and _is_foreign(executable):
        return f"is {_kind(executable)}, which cannot load the library: {unseen}"
    if executable and _names_address_sanitizer(executable.needed):
        return f"needs AddressSanitizer's library, which must be loaded first: {unseen}"
    if _names_address_sanitizer(preload.replace(":", " ").split()):
        return f"gets AddressSanitizer's library, which must be first in LD_PRELOAD: {unseen}"
    return ""


def _is_foreign(executable: Executable) -> bool:
    return executable.bits != 64 or executable.machine != os.uname().machine


def _kind(executable: Executable) -> str:
    return f"a {executable.bits}-bit {executable.machine} program"


def _names_address_sanitizer(libraries: Iterable[str]) -> bool:
    return any(name in library for library in libraries for name in _ADDRESS_SANITIZER)


def _obstacle(path: str, executable: Executable | None) -> str:
    """Why the library cannot be in this program, or ""."""
    if executable is None:
        return ""
    if executable.kind != "elf":
        return "is not an ELF program: it cannot be recorded"
    if _is_foreign(executable):
        return f"is {_kind(executable)}: the library cannot be loaded into it"
    if executable.is_static:
        return (
            "is statically linked: nothing in it can be seen; "
            "its dynamically linked children will be"
        )
    if gained := _gained_privilege(path):
        return f"{gained}: the loader ignores LD_PRELOAD, so it cannot be recorded"
    return ""


def _doubt(executable: Executable | None) -> str:
    """Why the library may see little although it is there, or ""."""
    if executable is None:
        return "cannot be read: whether it can be recorded is not known"
    if executable.defines_malloc:
        return "defines its own malloc: what it allocates with that will not be seen"
    return ""


def _gained_privilege(path: str) -> str:
    try:
        status = os.stat(path)
        if os.statvfs(path).f_flag & _ST_NOSUID:
            return ""
    except OSError:
        return ""
    if status.st_mode & 0o4000 and status.st_uid != os.getuid():
        return "is setuid"
    if status.st_mode & 0o2010 == 0o2010 and status.st_gid != os.getgid():
        return "is setgid"
    if os.getuid() and _has_capabilities(path):
        return "has file capabilities"
    return ""


def _has_capabilities(path: str) -> bool:
    try:
        return "security.capability" in os.listxattr(path)
    except OSError:  # file systems of other machines know no such thing (9p, FUSE)
        return False
