"""Rust names of both kinds, from literal symbols and against binutils on a whole program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rust import rustc
from heapglass.symbols.names.demangle import clean_name
from heapglass.symbols.names.rust_legacy import demangle_legacy
from heapglass.symbols.names.rust_v0 import demangle_v0
from unit.symbols.toolchain import PROGRAMS, run


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("_ZN6values4main17h086b0cfd890a8ea9E", "values::main"),
        ("_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17hc9674139e93972b5E", "r::main::{{closure}}"),
        ("_ZN1r25Grid$LT$T$C$_$C$_$C$_$GT$4size17hc5de19d224a9da44E", "r::Grid<T,_,_,_>::size"),
        (
            "_ZN66_$LT$Test$u20$$u2b$$u20$$u27$x$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
            "<Test + 'x as foo::Bar<Test>>::bar",
        ),
        ("_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.123", "core::ptr::drop_in_place"),
    ],
)
def test_legacy_names(symbol: str, shown: str) -> None:
    assert clean_name(symbol) == shown


@pytest.mark.parametrize(
    "symbol",
    ["_ZN3foo3barE", "_ZN3foo17h0123456789abcdeE", "_ZN9foo17h0123456789abcdefE", "_ZN17hE"],
)
def test_names_that_are_not_legacy_rust(symbol: str) -> None:
    assert demangle_legacy(symbol) is None


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        ("_RNvCs4fqI2P2rA04_6values4main", "values::main"),
        ("_RNvC7mycrate3foo.llvm.A5310EB9", "mycrate::foo"),
        ("_RNCNvC1a4main0", "a::main::{closure#0}"),
        ("_RNCNvC1a4mains_0", "a::main::{closure#1}"),
        ("_RNSNvC1a4mains0_4vtbl", "a::main::{shim:vtbl#2}"),
        ("_RINvC1r3genFG_RL0_hERL0_hE", "r::gen::<for<'a> fn(&'a u8) -> &'a u8>"),
        ("_RINvC1r3genTaARej2_QShuEE", "r::gen::<(i8, [&str; 2], &mut [u8], ())>"),
        ("_RINvC1r3genTaEE", "r::gen::<(i8,)>"),
        ("_RINvC1r3genFUKCllEuE", 'r::gen::<unsafe extern "C" fn(i32, i32)>'),
        ("_RINvC1r3genKj7b_E", "r::gen::<123>"),
        ("_RINvC1r3genKan7b_E", "r::gen::<-123>"),
        ("_RINvC1r3genKb1_Kc41_E", "r::gen::<true, 'A'>"),
        ("_RINvC1r3genKRe616263_E", 'r::gen::<"abc">'),
        ("_RNvMs_C1aINtB4_3FooPhE3bar", "<a::Foo<*const u8>>::bar"),
        ("_RNvXC1aNtB2_3FooNtB2_5Trait3bar", "<a::Foo as a::Trait>::bar"),
        ("_RNvYNtC1a3FooNtB4_5Trait3bar", "<a::Foo as a::Trait>::bar"),
        (
            "_RINvC1a3genDINtC1b2FnuEp6OutputhEL_E",
            "a::gen::<dyn b::Fn<(), Output = u8>>",
        ),
        ("_RINvC1a3genDNtC1b4IterNtC1c4SendEL_E", "a::gen::<dyn b::Iter + c::Send>"),
        ("_RNvC1au8nave_6pa", "a::naïve"),
        ("_RNvC1a3fooC1b", "a::foo"),
        ("_RINvC1a3fooL_E", "a::foo::<'_>"),
    ],
)
def test_v0_names(symbol: str, shown: str) -> None:
    assert clean_name(symbol) == shown


@pytest.mark.parametrize(
    "symbol",
    [
        "_R",
        "_R1NvC1a3foo",  # a version of the grammar that does not exist
        "_RNvC1a9foo",  # longer than the symbol
        "_RNvC1a3fooZ",  # something behind it
        "_RNvB_3foo",  # refers to itself
        "_RINvC1a3fooRL0_hE",  # a lifetime that nobody binds
        "_RNvC1a3foo" + "\u00e9",
        "_RINvC1a3gen" + "R" * 5000 + "hE",  # deeper than anyone nests
        "_RINvC1a3gen" + "TB9_" * 40 + "E" * 41,
    ],
)
def test_names_that_are_not_v0(symbol: str) -> None:
    assert demangle_v0(symbol) is None
    assert clean_name(symbol) == symbol


def test_references_cannot_blow_up_the_name() -> None:
    """Each tuple holds the one before it twice: some hundred characters, 2**22 names."""
    assert clean_name(doubling_symbol(1)) == "a::gen::<((), ()), (((), ()), ((), ()))>"
    assert len(clean_name(doubling_symbol(8))) > 5000
    assert demangle_v0(doubling_symbol(22)) is None


def doubling_symbol(times: int) -> str:
    symbol, last = "_RINvC1a3genTuuE", "_RINvC1a3gen".rindex("n") + 1
    for _ in range(times):
        reference = f"B{_base_62(last - 2)}"
        last = len(symbol)
        symbol += f"T{reference}{reference}E"
    return symbol + "E"


def _base_62(value: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    value -= 1
    text = ""
    while value >= 0:
        text = digits[value % 62] + text
        value = value // 62 - (value < 62)
    return text + "_"


@given(st.text(alphabet="CMXYNIBLKsTERQPODFGUpuhjvte_0123456789ab", max_size=80))
def test_any_v0_text_is_a_name(text: str) -> None:
    assert isinstance(clean_name("_R" + text), str)


def test_whole_program_agrees_with_binutils(tmp_path: Path) -> None:
    """The standard library alone gives hundreds of names; c++filt shows hashes, which we do not."""
    program = tmp_path / "values"
    options = ("-Copt-level=0", "-Csymbol-mangling-version=v0")
    run(rustc(), *options, PROGRAMS / "values.rs", "-o", program)
    symbols = sorted({line.split()[-1] for line in run("nm", program).splitlines()})
    names = [symbol for symbol in symbols if re.fullmatch(r"_R\w+", symbol)]
    others = run("c++filt", "-s", "rust", text="\n".join(names)).splitlines()
    assert len(names) > 20
    assert any("values" in name for name in names)
    for name, other in zip(names, others, strict=True):
        assert clean_name(name) == _without_hashes(other)


def _without_hashes(name: str) -> str:
    name = re.sub(r"(?<=\w)\[[0-9a-f]{1,16}\]", "", name)
    return re.sub(r": (?:[iu](?:8|16|32|64|128|size)|bool|char)(?=[,>\])]|$)", "", name)
