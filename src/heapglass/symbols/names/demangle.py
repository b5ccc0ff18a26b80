"""Makes the names in object files readable: C++ and Rust, without what compilers hang on them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache, lru_cache

from heapglass.symbols.names.rust_legacy import demangle_legacy
from heapglass.symbols.names.rust_v0 import demangle_v0

LONGEST_NAME = 1 << 16
RUNTIMES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")

# Parts that a compiler splits off or copies are the same function to whoever wrote it.
CLONE_SUFFIX = re.compile(
    r"(\.(cold|hot|unlikely|isra|part|constprop|lto_priv|localalias|clone|llvm|__uniq)(\.\d+)*)+$"
)
SYMBOL_VERSION = re.compile(r"@@?[A-Za-z_][\w.]*$")
STUB = "@plt"  # behind the name of what a stub leads to


@lru_cache(maxsize=1 << 16)
def clean_name(raw: str) -> str:
    """The name to show and to group by. What cannot be demangled stays as it is."""
    if len(raw) > LONGEST_NAME:
        return raw
    if raw.endswith(STUB):
        return clean_name(raw.removesuffix(STUB)) + STUB
    name = CLONE_SUFFIX.sub("", SYMBOL_VERSION.sub("", raw))
    if name.startswith("_R"):
        return demangle_v0(name) or name
    if name.startswith("_Z"):
        return demangle_legacy(name) or _cxa_demangler()(name) or name
    return name


@cache
def _cxa_demangler() -> Callable[[str], str | None]:
    """The C++ runtime's own; where no runtime is installed C++ names stay mangled."""
    for library in RUNTIMES:
        try:
            return _wrap(ctypes.CDLL(library)["__cxa_demangle"])
        except (OSError, AttributeError):
            continue
    return _no_demangler


def has_cxx_demangler() -> bool:
    return _cxa_demangler() is not _no_demangler


def _no_demangler(_: str) -> str | None:
    return None


def _wrap(demangle: ctypes._NamedFuncPointer) -> Callable[[str], str | None]:
    demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    demangle.restype = ctypes.c_void_p
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free.restype = None

    def call(name: str) -> str | None:
        status = ctypes.c_int(0)
        result = demangle(name.encode(), None, None, ctypes.byref(status))
        if not result:
            return None
        try:
            return ctypes.string_at(result).decode("utf-8", "replace")
        finally:
            free(result)

    return call
