"""What `heapglass run --fail` says in the end: whether the program leaked."""

from __future__ import annotations

from collections.abc import Sequence

from heapglass.cli.leaks import built_in_suppressions
from heapglass.cli.source import open_source
from heapglass.errors import HeapglassError, LaunchError
from heapglass.launch.launcher import working_directory
from heapglass.launch.voice import say, short_name
from heapglass.text import shell_word
from heapglass.units import Units, format_count
from heapglass.views.leaks import LeakQuery, LeaksView, build_leaks
from heapglass.views.text.estimates import blocks_estimate, sized_estimate
from heapglass.views.text.glyphs import ASCII


def judge(recordings: Sequence[str]) -> int:
    """The exit code, by what the program's last recording has; LaunchError where there is none."""
    if not recordings:
        raise LaunchError("whether the program leaked is not known: it was not recorded")
    path = recordings[-1]
    try:
        view = _look(path)
    except HeapglassError as error:
        raise LaunchError(f"whether the program leaked is not known: {error}") from None
    if not view.matched:
        return 0
    size = sized_estimate(view.size_bytes, view.bytes_error, Units.IEC, ASCII)
    blocks = blocks_estimate(view.blocks, view.blocks_error, ASCII)
    sites = f"{format_count(view.matched)} site{'' if view.matched == 1 else 's'}"
    name = shell_word(short_name(path, working_directory()))
    say(f"the program leaked {size} in {blocks} from {sites}; see: heapglass leaks {name}")
    return 1


def _look(path: str) -> LeaksView:
    opened = open_source(path)
    query = LeakQuery(suppressions=tuple(built_in_suppressions()))
    return build_leaks(opened.heap, opened.names, query)
