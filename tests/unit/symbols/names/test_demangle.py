"""Names as they are shown: C++ by the runtime's own demangler, and what compilers append."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapglass.symbols.names import demangle
from heapglass.symbols.names.demangle import clean_name


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("malloc", "malloc"),
        ("", ""),
        ("_ZN5outer5inner3BoxIdEC2Ei", "outer::inner::Box<double>::Box(int)"),
        ("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"),
        ("_ZN12_GLOBAL__N_16hiddenEi", "(anonymous namespace)::hidden(int)"),
        ("_Znwm", "operator new(unsigned long)"),
        # what compilers and linkers append
        ("_Z3foov.cold", "foo()"),
        ("_Z3foov.part.0.isra.12.cold", "foo()"),
        ("_Z3foov.constprop.0", "foo()"),
        ("_Z3foov.lto_priv.3", "foo()"),
        ("helper.isra.0", "helper"),
        ("helper.llvm.1234567890123456789", "helper"),
        ("malloc@@GLIBC_2.2.5", "malloc"),
        ("memcpy@GLIBC_2.2.5", "memcpy"),
        ("_ZSt9terminatev@@GLIBCXX_3.4", "std::terminate()"),
        # names that only look like it
        ("nested.0", "nested.0"),
        ("part.0", "part.0"),
        ("_Z", "_Z"),
        ("_Zgarbage", "_Zgarbage"),
        ("_ZN3foo.cold", "_ZN3foo"),
        ("i", "i"),
        ("_start", "_start"),
    ],
)
def test_clean_name(raw: str, shown: str) -> None:
    assert clean_name(raw) == shown


@pytest.mark.parametrize("kind", "12")
def test_constructors_and_destructors_fold(kind: str) -> None:
    assert clean_name(f"_ZN3FooC{kind}Ev") == "Foo::Foo()"
    assert clean_name(f"_ZN3FooD{kind}Ev") == "Foo::~Foo()"


def test_name_too_long_for_the_runtime_stays_as_it_is() -> None:
    raw = "_Z1f" + "St6vectorIiE" * 10_000
    assert clean_name(raw) == raw


def test_without_a_runtime_names_stay_mangled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert demangle._cxa_demangler.__wrapped__()("_Z3foov") is None


@given(st.text())
def test_any_text_is_a_name(text: str) -> None:
    assert isinstance(clean_name(text), str)


@given(st.text(alphabet="_ZNEIKLS0123456789abstPRCD.$", max_size=60))
def test_any_mangled_text_is_a_name(text: str) -> None:
    assert isinstance(clean_name("_Z" + text), str)
