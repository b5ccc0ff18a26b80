"""The list of annotated blocks, below those that count."""

from __future__ import annotations

from heapglass.cli.output import Screen
from heapglass.cli.site_list import print_site_list, print_title, site_numbers
from heapglass.units import format_count, format_size
from heapglass.views.annotated import AnnotatedView


def print_annotated(screen: Screen, view: AnnotatedView) -> None:
    if not view.rows:
        return
    count = f"{format_count(view.site_count)} site{'' if view.site_count == 1 else 's'}"
    live = format_size(view.live_bytes, screen.units)
    print_title(screen, "Annotated by the program", f"{live} live from {count}, in no total")
    print_site_list(screen, view.rows, site_numbers(screen, view.rows, "live", view.live_bytes))
