"""Fixtures for all tests: the native library, and the command in a directory of its own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

pytest.register_assert_rewrite("harness")

from harness.cli import Cli  # noqa: E402 (rewritten only when imported after the line above)
from heapglass.launch.library import library_path  # noqa: E402

# A shell starts what runs in the background with these ignored; tested programs inherit that.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def library() -> str:
    """The native library; an error, never a skip, when it is not built."""
    return library_path()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    directory = tmp_path / "cli"
    directory.mkdir()
    return Cli(directory)
