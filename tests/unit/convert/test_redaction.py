"""What is replaced, what stays, and that it is always the same."""

from __future__ import annotations

import pytest

from heapglass.convert.redaction import Redactor
from heapglass.model import Frame

KEY = "key"
SECRET, OTHER = (Redactor(KEY).word(name) for name in ("Secret", "other"))


def frame(function: str, file: str = "", module: str = "/opt/app/server") -> Frame:
    return Frame(function, file, 1, module, 0, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("main", "main"),
        ("other", OTHER),
        (
            "other::Secret(int const&, unsigned long)",
            f"{OTHER}::{SECRET}(int const&, unsigned long)",
        ),
        (
            "std::vector<Secret, std::allocator<Secret> >::push_back(Secret&&)",
            f"std::vector<{SECRET}, std::allocator<{SECRET}> >::push_back({SECRET}&&)",
        ),
        (
            "void std::__invoke<other::{lambda(int)#1}>(int)",
            f"void std::__invoke<{OTHER}::{{lambda(int)#1}}>(int)",
        ),
        ("Secret::operator<<(std::ostream&)", f"{SECRET}::operator<<(std::ostream&)"),
        ("(anonymous namespace)::other(char*)", f"(anonymous namespace)::{OTHER}(char*)"),
        ("<Secret as core::fmt::Display>::fmt", None),
        ("other@plt", f"{OTHER}@plt"),
    ],
)
def test_functions(name: str, expected: str | None) -> None:
    found = Redactor(KEY).function(frame(name))
    assert found == expected if expected else "Secret" not in found
    assert "Secret" not in found


def test_the_runtimes_keep_their_names() -> None:
    redactor = Redactor(KEY)
    libc = frame("__libc_start_main", "../csu/libc-start.c", "/lib/x86_64-linux-gnu/libc.so.6")
    assert redactor.function(libc) == libc.function
    assert redactor.source(libc) == libc.file
    inlined = frame("allocate<Secret>", "/usr/include/c++/12/bits/new_allocator.h")
    assert redactor.function(inlined) == f"allocate<{SECRET}>"
    assert redactor.source(inlined) == inlined.file


def test_paths_and_modules_share_words_with_functions() -> None:
    redactor = Redactor(KEY)
    assert redactor.path("/src/other/Secret.cpp") == f"/src/{OTHER}/{SECRET}.cpp"
    assert redactor.path("/opt/other/libSecret.so.1.2") == f"/opt/{OTHER}/lib{SECRET}.so.1.2"
    assert redactor.path("/lib/x86_64-linux-gnu/libc.so.6") == "/lib/x86_64-linux-gnu/libc.so.6"
    assert redactor.thread("Secret-12") == f"{SECRET}-12"


def test_what_may_be_anything_goes_as_a_whole() -> None:
    redactor = Redactor(KEY)
    assert redactor.argument("--password=1234") == redactor.word("--password=1234")
    assert redactor.option("HEAPGLASS_DEPTH=64") == "HEAPGLASS_DEPTH=64"
    assert redactor.option("HEAPGLASS_OUT=other") == f"HEAPGLASS_OUT={OTHER}"


def test_a_key_makes_words_that_others_cannot_find() -> None:
    assert Redactor(KEY).word("other") == OTHER
    assert Redactor("another").word("other") != OTHER
    assert Redactor().word("other") != Redactor().word("other")
    words = {Redactor(KEY).word(f"name{number}") for number in range(20_000)}
    assert len(words) == 20_000
