"""Every output at once, on a server under load, and what is seen of the server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.conversation import ask
from harness.live_text import parse
from harness.redis import Redis, redis

REQUESTS = 300  # of each command
ROUNDS = 15  # of questions, which take about as long
ALL = {
    "HEAPGLASS_OUT": "%p.heapglass",
    "HEAPGLASS_SOCKET": "sock",
    "HEAPGLASS_REPORT": "0.05",
    "HEAPGLASS_REPORT_TO": "reports",
    "HEAPGLASS_LOG": "calls",
    "HEAPGLASS_LOG_STACKS": "1",
    "HEAPGLASS_SNAPSHOT_LOG": "pmem.%p.log",
    "HEAPGLASS_CHURN": "16M",
    "HEAPGLASS_LEAKS": "left",
    "HEAPGLASS_CORE": "1",
    "HEAPGLASS_TRACE": "1",
}
Asking = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Seen:
    """What anyone can see of the server when its work is done."""

    replies: dict[str, str]
    descriptors: tuple[tuple[int, str], ...]

    def without(self, name: str) -> Seen:
        """But for a descriptor of a file of ours."""
        return replace(self, descriptors=tuple(d for d in self.descriptors if d[1] != name))


def serve(server: Redis, asking: Asking) -> Seen:
    """The load, with a child that saves it, while someone asks."""
    with server.load(REQUESTS) as load:
        for _ in range(ROUNDS):
            asking(server.directory / "sock")
    assert load.returncode == 0
    server.save()
    seen = Seen(server.replies(), tuple(server.descriptors()))
    assert server.children() == "", "nobody is left to be waited for"
    return seen


def serve_bare(place: Path) -> Seen:
    """The same without heapglass."""
    directory = place / "bare"
    directory.mkdir()
    with redis(directory, None) as server:
        seen = serve(server, lambda _: None)
        assert server.end() == 0
    return seen


def ask_and_read(sock: Path) -> None:
    """Everything that changes nothing."""
    stacks = parse(ask(sock, "text"))
    assert any(frame.symbol for stack in stacks for frame in stack.frames)
    document = json.loads(ask(sock, "json"))
    assert document["allocation_stacks"] == len(document["allocs"]) >= len(stacks)
    largest = parse(ask(sock, "top 5"))
    assert len(largest) == 5
    sizes = [stack.total_size for stack in largest]
    assert sizes == sorted(sizes, reverse=True)
    assert b"allocations = " in ask(sock, "summary")
