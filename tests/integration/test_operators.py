"""operator new and delete: whose they are, and when they are looked for."""

from __future__ import annotations

import sys

import pytest

from harness.bench import Bench
from harness.counters import by_name
from harness.programs import program

PLUGINS = ("plugin_threads", "plugin_operators", "plugin_static")


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_in_a_program_without_a_runtime(bench: Bench, plugin: str) -> None:
    """It finds the operators that it would find without us, and finding them takes no lock."""
    bench.compare(program("plugin_host").argv((f"{{{plugin}}}",)))


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_plugin_in_an_interpreter(bench: Bench, plugin: str) -> None:
    script = f"import ctypes; ctypes.CDLL({program(plugin).path()!r}).go()"
    bench.compare([sys.executable, "-c", script])


def test_what_a_plugin_allocates_is_what_is_counted(bench: Bench) -> None:
    """Each `new` once, and nothing that a search for operators would allocate."""
    recording = bench.compare(program("plugin_host").argv(("{plugin_static}",))).recording
    counted = by_name(recording)["site_plugin"]
    assert (counted["allocations"], counted["frees"]) == (1000, 1000)


def test_what_the_loader_had_to_say_is_kept(bench: Bench) -> None:
    bench.compare(program("dlerror_kept").argv())
