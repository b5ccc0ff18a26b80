"""The modes that can be compared, and the environment that puts a program into one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from heapglass.launch.environment import Environment, inherited_environment, recording_environment
from heapglass.launch.library import library_path, preload_path
from heapglass.launch.naming import DEFAULT_NAME, escape
from heapglass.launch.options import RunOptions

SAMPLE_BYTES = 512 << 10
_EXACT = {"HEAPGLASS_SAMPLE": "0", "HEAPGLASS_PAUSED": "0"}


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    label: str
    is_recorded: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self, directory: Path) -> Environment:
        """That of a program in this mode; its recordings go to `directory`."""
        base = inherited_environment()
        if not self.is_recorded:
            return base
        template = os.path.join(escape(str(directory)), DEFAULT_NAME)
        library = preload_path(library_path())
        options = RunOptions(command=())
        environment = recording_environment(base, options, library, template, "0")
        # Nothing that the user's own variables say may turn one mode into another.
        for name, value in {**_EXACT, **self.settings}.items():
            environment[name.encode()] = value.encode()
        return environment


PLAIN = Mode("plain", "plain", is_recorded=False)
EXACT = Mode("exact", "exact")
SAMPLED = Mode("sampled", "sampled (512 KiB)", settings={"HEAPGLASS_SAMPLE": str(SAMPLE_BYTES)})
PAUSED = Mode("paused", "paused", settings={"HEAPGLASS_PAUSED": "1"})
