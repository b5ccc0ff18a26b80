"""The programs that the tests of symbols look into, each built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.symbols.toolchain import build


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


@pytest.fixture(scope="session")
def chain(built: Path) -> Path:
    """A C program with debug information."""
    return build("chain.c", built / "chain", "-g")


@pytest.fixture(scope="session")
def chain_library(built: Path) -> Path:
    """The same as a library, without debug information."""
    return build("chain.c", built / "libchain.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def shapes(built: Path) -> Path:
    """A C++ program with debug information."""
    return build("shapes.cpp", built / "shapes", "-g", "-std=c++20")


@pytest.fixture(scope="session")
def values(built: Path) -> Path:
    """A Rust program with debug information."""
    return build("values.rs", built / "values", "-g")
