"""Our named tuples behave as typing's do, and spare `heapglass run` the import of typing."""

from __future__ import annotations

import subprocess
import sys
import typing

import pytest

from heapglass import tuples


class Ours(tuples.NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def total(self) -> int:
        return self.x + self.y


class Theirs(typing.NamedTuple):
    x: int
    y: int = 2


def test_is_a_tuple_with_names() -> None:
    ours = Ours(1)
    assert ours == Theirs(1) == (1, 2)
    assert (ours.x, ours.y, ours.total) == (1, 2, 3)
    assert ours._replace(x=5) == (5, 2)
    assert Ours._field_defaults == Theirs._field_defaults
    assert Ours._fields == Theirs._fields
    assert repr(ours) == "Ours(x=1, y=2)"
    assert Ours.__doc__ == "A point."
    assert Ours.__module__ == __name__


def test_cannot_be_changed() -> None:
    for name in ("x", "z"):
        with pytest.raises(AttributeError):
            setattr(Ours(1), name, 3)


def test_run_does_not_import_typing() -> None:
    code = "import sys, heapglass.cli.run; print('typing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
