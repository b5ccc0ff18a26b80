"""Which frames only pass memory on: the allocator, the C and C++ runtimes, their containers.

The rule, in this order; a frame is plumbing when
 1. its module is the C library, the dynamic loader, the C++ runtime, an allocator, or heapglass;
 2. its function is an allocation entry point (malloc, strdup, operator new, ...) or what starts
    programs and threads, wherever it lives, so that statically linked programs read the same;
 3. its function is in namespace std, __gnu_cxx or __cxxabiv1, or is a Rust allocation shim, or
    comes from the sources of Rust's standard library;
 4. its function is one the user named a wrapper.
Wrappers of the program's own (xmalloc, g_malloc, sqlite3MemMalloc) are not guessed from their
names: they answer for their memory until the user says otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename

from heapglass.analysis.names import qualified_name
from heapglass.model import Frame

_MODULES = re.compile(
    r"(lib(c|pthread|dl|rt|m|resolv|stdc\+\+|c\+\+|c\+\+abi|gcc_s|unwind"
    r"|jemalloc|tcmalloc(_minimal)?(_debug)?|mimalloc(-\w+)?|snmallocshim(-\w+)?|hoard"
    r"|heapglass[\w-]*)"
    r"|ld|ld-linux[\w-]*|ld-musl[\w-]*|libc\.musl-\w+)"
    r"(-[\d.]+)?\.so(\.\d+)*"
)
_ENTRIES = frozenset(
    """
    malloc calloc realloc reallocarray free cfree memalign posix_memalign aligned_alloc valloc
    pvalloc malloc_usable_size strdup strndup wcsdup asprintf vasprintf getline getdelim
    """.split()
)
_STARTS = frozenset(
    """
    _start __libc_start_main __libc_start_main_impl __libc_start_call_main __libc_csu_init
    start_thread clone clone3 _dl_start _dl_start_user call_init
    """.split()
)
_ENTRY_PREFIX = re.compile(r"__GI___libc_|__libc_|__GI_|__interceptor_|__|je_|tc_|mi_")
_OPERATOR_NEW = re.compile(r"operator (new|delete)(\[\])?")
_RUNTIME_NAMESPACES = ("std::", "__gnu_cxx::", "__cxxabiv1::")
_RUST_SHIM = re.compile(r"__(rust|rdl|rg)_\w+")
_RUST_SOURCES = re.compile(r"(^|/)(rustc/[0-9a-f]+/library|rust/deps/hashbrown-[^/]+|rustlib/src)/")


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The rule above with the user's own wrappers, patterns that must match a whole name."""

    wrappers: tuple[re.Pattern[str], ...] = ()

    def covers(self, frame: Frame) -> bool:
        if _is_runtime_module(frame.module):
            return True
        if not frame.function:
            return False
        name = qualified_name(frame.function)
        return (
            _is_entry(name)
            or name.startswith(_RUNTIME_NAMESPACES)
            or _is_rust(name, frame.file)
            or any(wrapper.fullmatch(name) for wrapper in self.wrappers)
        )


@lru_cache(maxsize=4096)
def _is_runtime_module(path: str) -> bool:
    return _MODULES.fullmatch(basename(path)) is not None


def _is_entry(name: str) -> bool:
    if _OPERATOR_NEW.fullmatch(name):
        return True
    prefix = _ENTRY_PREFIX.match(name)
    if name in _ENTRIES or name in _STARTS:
        return True
    return prefix is not None and name[prefix.end() :] in _ENTRIES


def _is_rust(name: str, file: str) -> bool:
    """Rust's `alloc` and `core` are common words: only its own source files make them plumbing."""
    return bool(_RUST_SHIM.fullmatch(name) or _RUST_SOURCES.search(file))
