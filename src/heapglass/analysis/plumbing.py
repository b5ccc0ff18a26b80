"""Which frames only pass memory on: the allocator, the C and C++ runtimes, their containers.

The rule, in this order; a frame is plumbing when
 1. its module is the C library, the dynamic loader, the C++ runtime, an allocator, or heapglass;
 2. its function is an allocation entry point (malloc, strdup, operator new, ...) or what starts
    programs and threads, wherever it lives, so that statically linked programs read the same; so
    are heapglass.h's for annotated blocks, which are inlined into whoever calls them;
 3. its function is in namespace std, __gnu_cxx or __cxxabiv1, is a Rust allocation shim, or comes
    from the headers or sources of the C++ or Rust standard library (debug information names
    inlined functions without their namespaces, and `core` and `alloc` are words anyone may use);
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
    heapglass_alloc heapglass_pool_alloc
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
_SOURCES = re.compile(
    r"(^|/)(include/c\+\+|libstdc\+\+-v3|rustc/[0-9a-f]+/library|rustlib/src|rust/deps/hashbrown-[^/]+)/"
)


@dataclass(frozen=True, slots=True)
class Plumbing:
    """The rule above with the user's own wrappers, patterns that must match a whole name; code
    without a name is matched as `module+0xoffset`."""

    wrappers: tuple[re.Pattern[str], ...] = ()

    def covers(self, frame: Frame) -> bool:
        if _is_runtime(frame.function, frame.file, frame.module):
            return True
        return bool(self.wrappers) and self._is_wrapper(frame)

    def _is_wrapper(self, frame: Frame) -> bool:
        name = qualified_name(frame.function) or f"{basename(frame.module)}+{frame.offset:#x}"
        return any(wrapper.fullmatch(name) for wrapper in self.wrappers)


# A recording of a compiler has millions of frames and thousands of different ones.
@lru_cache(maxsize=1 << 16)
def _is_runtime(function: str, file: str, module: str) -> bool:
    if _MODULES.fullmatch(basename(module)) or _SOURCES.search(file):
        return True
    name = qualified_name(function)
    return (
        _is_entry(name) or name.startswith(_RUNTIME_NAMESPACES) or bool(_RUST_SHIM.fullmatch(name))
    )


def _is_entry(name: str) -> bool:
    if name in _ENTRIES or name in _STARTS or _OPERATOR_NEW.fullmatch(name):
        return True
    prefix = _ENTRY_PREFIX.match(name)
    return prefix is not None and name[prefix.end() :] in _ENTRIES
