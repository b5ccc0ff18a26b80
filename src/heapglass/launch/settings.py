"""What the user's HEAPGLASS_* variables say, where no option of `heapglass run` does."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from heapglass.launch import values
from heapglass.launch.options import RunOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SETTINGS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "HEAPGLASS_DEPTH": ("depth", values.read_depth),
    "HEAPGLASS_SNAPSHOT": ("snapshot_seconds", values.read_seconds),
    "HEAPGLASS_CHURN": ("churn_bytes", values.read_churn),
    "HEAPGLASS_MEMORY": ("memory_bytes", values.read_memory),
    "HEAPGLASS_SAMPLE": ("sample", values.read_sample),
    "HEAPGLASS_REPORT": ("report_seconds", values.read_seconds),
    "HEAPGLASS_CORE": ("has_core", values.read_switch),
    "HEAPGLASS_LOG_FD": ("log_fd", values.read_descriptor),
    "HEAPGLASS_LOG_STACKS": ("has_log_stacks", values.read_switch),
    "HEAPGLASS_TRACE": ("has_trace", values.read_switch),
    "HEAPGLASS_OUT": ("output", str),
    "HEAPGLASS_QUIET": ("is_quiet", values.read_switch),
    "HEAPGLASS_FOLLOW": ("follows_children", values.read_switch),
}
# What no option says, and the library reads by itself; it leaves it to us to complain.
_CHECKED: dict[str, Callable[[str], object]] = {
    "HEAPGLASS_PMEM": values.read_switch,
    "HEAPGLASS_LOG_FULL": values.read_full,
    "HEAPGLASS_LOG_FLUSH": values.read_flush,
    "HEAPGLASS_BUDGET": values.read_budget,
    "HEAPGLASS_PAUSED": values.read_switch,
    "HEAPGLASS_SEED": values.read_seed,
}
# A run inside a run finds these as the outer one set them for its own program.
_OUTER = {"HEAPGLASS_OUT", "HEAPGLASS_QUIET", "HEAPGLASS_FOLLOW"}


def complete(
    options: RunOptions, environment: Mapping[bytes, bytes]
) -> tuple[RunOptions, list[str]]:
    """The options with what the environment adds, and a line for each value that makes no sense."""
    is_inner = b"HEAPGLASS_SESSION" in environment
    found: dict[str, Any] = {}
    troubles = []
    for variable, (field, read) in _SETTINGS.items():
        text = _text(environment, variable)
        is_given = getattr(options, field) != RunOptions._field_defaults[field]
        if not text or is_given or (is_inner and variable in _OUTER):
            continue
        try:
            found[field] = read(text)
        except ValueError as error:
            troubles.append(_trouble(variable, error))
    return options._replace(**found), troubles + _check(environment)


def _check(environment: Mapping[bytes, bytes]) -> list[str]:
    troubles = []
    for variable, read in _CHECKED.items():
        text = _text(environment, variable)
        try:
            if text:
                read(text)
        except ValueError as error:
            troubles.append(_trouble(variable, error))
    return troubles


def _text(environment: Mapping[bytes, bytes], variable: str) -> str:
    return os.fsdecode(environment.get(variable.encode(), b""))


def _trouble(variable: str, error: ValueError) -> str:
    """As the library says it."""
    return f"{variable}={error}; using the default"
