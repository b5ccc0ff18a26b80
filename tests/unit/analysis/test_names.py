from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heapglass.analysis.names import (
    elide_arguments,
    fold_clones,
    qualified_name,
    split_scopes,
)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("main", "main"),
        ("parse(int, char const*)", "parse"),
        ("void run<int>(int)", "run<int>"),
        ("std::vector<int>::push_back(int const&)", "std::vector<int>::push_back"),
        (
            "void std::vector<int, std::less<int> >::_M_realloc_insert<int const&>(int const&)",
            "std::vector<int, std::less<int> >::_M_realloc_insert<int const&>",
        ),
        ("std::enable_if<true, int>::type app::pick<int>(int)", "app::pick<int>"),
        ("decltype(auto) app::get<0>(std::pair<int, int>&)", "app::get<0>"),
        ("app::Node::size() const", "app::Node::size"),
        ("app::Node::take() &&", "app::Node::take"),
        ("(anonymous namespace)::work(int)", "(anonymous namespace)::work"),
        ("app::(anonymous namespace)::Pool::grow()", "app::(anonymous namespace)::Pool::grow"),
        ("operator new(unsigned long)", "operator new"),
        ("operator new[](unsigned long)", "operator new[]"),
        ("app::Arena::operator new(unsigned long)", "app::Arena::operator new"),
        ("app::Value::operator bool() const", "app::Value::operator bool"),
        ("bool operator< <int>(Box<int> const&, Box<int> const&)", "operator< <int>"),
        ("std::ostream& operator<< (std::ostream&, Box const&)", "operator<<"),
        ("Box* Ptr<Box>::operator->() const", "Ptr<Box>::operator->"),
        ("Less::operator()(int) const", "Less::operator()"),
        ("Less::operator()", "Less::operator()"),
        (
            "main::{lambda(std::string const&)#1}::operator()(std::string const&) const",
            "main::{lambda(std::string const&)#1}::operator()",
        ),
        ("parse(int) [clone .cold]", "parse"),
        ("parse.isra.0", "parse"),
        (
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
        ),
        ("app::call<fn(i32) -> i32>", "app::call<fn(i32) -> i32>"),
        ("", ""),
    ],
)
def test_return_type_and_parameters_are_left_out(function: str, name: str) -> None:
    assert qualified_name(function) == name


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("f.part.0.cold", "f"),
        ("f.constprop.12", "f"),
        ("f.lto_priv.0", "f"),
        ("f(int) [clone .isra.3] [clone .cold]", "f(int)"),
        ("cold", "cold"),
        ("x.warm", "x.warm"),
    ],
)
def test_clones_are_the_function_they_were_made_of(function: str, name: str) -> None:
    assert fold_clones(function) == name


@pytest.mark.parametrize(
    ("name", "elided"),
    [
        ("main", "main"),
        ("std::vector<int, std::allocator<int> >::push_back", "std::vector<~>::push_back"),
        ("a<b<c>, d>::e<f>", "a<~>::e<~>"),
        ("operator<< <int>", "operator<< <~>"),
        ("Map<int>::operator->", "Map<~>::operator->"),
        ("call<fn(i32) -> i32>::go", "call<~>::go"),
        ("<Vec<T> as Drop>::drop", "<Vec<T> as Drop>::drop"),
        ("odd<never closed", "odd<never closed"),
    ],
)
def test_template_arguments_are_elided(name: str, elided: str) -> None:
    assert elide_arguments(name, "~") == elided


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        ("main", ["main"]),
        ("a::b<c::d>::e", ["a", "b<c::d>", "e"]),
        ("(anonymous namespace)::f", ["(anonymous namespace)", "f"]),
        ("a::operator std::string", ["a", "operator std", "string"]),
        ("::f", ["", "f"]),
        ("", [""]),
    ],
)
def test_scopes_are_split_outside_of_brackets(name: str, scopes: list[str]) -> None:
    assert split_scopes(name) == scopes


@example(":::")
@given(st.text(alphabet="ab:<>()[]{} ,&*-.operatorconst", max_size=60))
def test_no_text_is_too_odd(text: str) -> None:
    assert qualified_name(text) in text
    assert "::".join(split_scopes(text)) == text
    assert len(elide_arguments(text, "~")) <= len(text) + text.count("<")
