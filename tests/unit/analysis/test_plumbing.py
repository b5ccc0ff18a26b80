from __future__ import annotations

import re

import pytest

from heapglass.analysis.plumbing import Plumbing
from heapglass.analysis.stacks import NamedStack, find_responsible, responsible_frame
from heapglass.model import Frame
from unit.fake_source import frame

RULE = Plumbing()


@pytest.mark.parametrize(
    "module",
    [
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/libc-2.31.so",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-2.31.so",
        "/lib/ld-musl-x86_64.so.1",
        "/lib/libc.musl-x86_64.so.1",
        "/usr/lib/libstdc++.so.6.0.30",
        "/usr/lib/libc++.so.1",
        "/usr/lib/libgcc_s.so.1",
        "/usr/lib/libjemalloc.so.2",
        "/usr/lib/libtcmalloc_minimal.so.4",
        "/usr/lib/libmimalloc.so.2.0",
    ],
)
def test_runtime_modules_are_plumbing_whatever_the_function(module: str) -> None:
    assert RULE.covers(frame("anything", module=module))
    assert RULE.covers(frame("", module=module))


@pytest.mark.parametrize(
    "module", ["/usr/bin/app", "/usr/lib/libcurl.so.4", "/opt/libcache.so", "/usr/lib/libm17n.so.0"]
)
def test_other_modules_are_not(module: str) -> None:
    assert not RULE.covers(frame("anything", module=module))
    assert not RULE.covers(frame("", module=module))


@pytest.mark.parametrize(
    "function",
    [
        "malloc",
        "__libc_malloc",
        "__GI___libc_malloc",
        "__strdup",
        "posix_memalign",
        "operator new(unsigned long)",
        "operator new[](unsigned long, std::nothrow_t const&)",
        "std::vector<app::Node, std::allocator<app::Node> >::push_back(app::Node const&)",
        "void std::vector<int>::_M_realloc_insert<int>(int&&)",
        "__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)",
        "std::__cxx11::basic_string<char>::_M_create(unsigned long&, unsigned long)",
        "__rust_alloc",
        "__rdl_realloc",
        "heapglass_alloc",
        "heapglass_pool_alloc",
    ],
)
def test_allocation_functions_and_containers_are_plumbing(function: str) -> None:
    assert RULE.covers(frame(function))


@pytest.mark.parametrize(
    "function",
    [
        "xmalloc",
        "g_malloc",
        "sqlite3MemMalloc",
        "app::Arena::operator new(unsigned long)",
        "std::vector<int> app::load()",
        "std::enable_if<true, int>::type app::pick<int>(int)",
        "standard::parse(int)",
        "core::run()",
        "alloc::pool()",
    ],
)
def test_the_programs_own_functions_are_not(function: str) -> None:
    assert not RULE.covers(frame(function))


def test_rust_library_code_is_told_by_its_sources() -> None:
    library = "/rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/alloc/src/vec/mod.rs"
    assert RULE.covers(frame("alloc::vec::Vec<T>::push", library, 10))
    assert not RULE.covers(frame("alloc::vec::Vec<T>::push", "src/main.rs", 10))


@pytest.mark.parametrize(
    "file",
    [
        "/usr/include/c++/12/bits/invoke.h",
        "/opt/include/c++/v1/vector",
        "../libstdc++-v3/a.cc",
    ],
)
def test_header_code_inlined_without_its_namespace_is_told_by_its_file(file: str) -> None:
    assert RULE.covers(frame("__invoke_impl<void, main()::<lambda()> >", file, 61, inlined=True))
    assert not RULE.covers(frame("operator()", "/src/include/main.cc", 15))


def test_code_without_a_name_can_be_a_wrapper_too() -> None:
    unnamed = Frame("", "", 0, "/usr/lib/libsqlite3.so.0", 0x7F00A7504, 0xA7504)
    assert not RULE.covers(unnamed)
    assert Plumbing((re.compile(r"libsqlite3.*\+0xa7504"),)).covers(unnamed)


def test_named_wrappers_join_the_plumbing() -> None:
    rule = Plumbing((re.compile("x.alloc"),))
    assert rule.covers(frame("xmalloc(unsigned long)"))
    assert not rule.covers(frame("xmalloc_pool"))


def test_the_innermost_own_frame_is_responsible() -> None:
    stack = NamedStack(
        (
            frame("operator new(unsigned long)", module="/usr/lib/libstdc++.so.6"),
            frame("std::allocator<int>::allocate(unsigned long)", inlined=True),
            frame("std::vector<int>::reserve(unsigned long)", inlined=True),
            frame("app::load(char const*)", "load.cc", 12),
            frame("main", "main.cc", 3),
            frame("__libc_start_main", module="/lib/libc.so.6"),
        )
    )
    assert find_responsible(stack, RULE) == 3
    assert responsible_frame(stack, RULE) == stack.frames[3]


def test_among_plumbing_only_the_innermost_frame_answers() -> None:
    stack = NamedStack(
        (frame("pool", module="/l/libstdc++.so.6"), frame("init", module="/l/ld.so"))
    )
    assert responsible_frame(stack, RULE) == stack.frames[0]


def test_nobody_answers_for_a_stack_without_frames() -> None:
    assert find_responsible(NamedStack(()), RULE) == -1
    assert responsible_frame(NamedStack(()), RULE) is None
