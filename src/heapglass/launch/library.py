"""Where the native library and its headers are, and a path the dynamic loader can take."""

from __future__ import annotations

import os

from heapglass.errors import LaunchError

LIBRARY = "libheapglass.so"
_NATIVE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "_native")


def library_path(native: str = _NATIVE) -> str:
    """LaunchError when the library was never built."""
    return _existing(os.path.join(native, LIBRARY))


def include_directory(native: str = _NATIVE) -> str:
    """The directory to compile with, `cc -I`; LaunchError when the header is not there."""
    return os.path.dirname(_existing(os.path.join(native, "include", "heapglass.h")))


def preload_path(library: str) -> str:
    """A name of `library` without the characters at which the loader would cut it.

    LD_PRELOAD is a list parted by colons and blanks and knows no quoting, so a library below
    "/srv/my project" needs a link elsewhere. The link stays: programs started later by the
    recorded one need it too.
    """
    if not any(c in library for c in ": \t\n"):
        return library
    directory = f"/tmp/heapglass-{os.getuid()}-{os.stat(library).st_ino}"  # noqa: S108
    link = os.path.join(directory, LIBRARY)
    try:
        os.mkdir(directory, 0o755)
    except FileExistsError:
        _check_ours(directory, library)
    if not os.path.lexists(link) or os.readlink(link) != library:
        _replace_link(library, link)
    return link


def _existing(path: str) -> str:
    if not os.path.exists(path):
        raise LaunchError(
            f"{path} is missing: heapglass was installed without its native part; "
            "install it again with a C compiler at hand (in a checkout: make setup)"
        )
    return path


def _check_ours(directory: str, library: str) -> None:
    """Anybody may make a directory in /tmp; nobody else's code may end up in the program."""
    status = os.lstat(directory)
    if status.st_uid != os.getuid() or status.st_mode & 0o170022 != 0o040000:
        raise LaunchError(
            f"{library} has a character in its path that LD_PRELOAD cannot hold, and {directory}, "
            "where a link to it would go, is not ours alone; remove it or install elsewhere"
        )


def _replace_link(library: str, link: str) -> None:
    fresh = f"{link}.{os.getpid()}"
    os.symlink(library, fresh)
    os.rename(fresh, link)
