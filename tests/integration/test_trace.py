"""The trace: a line on stderr for each call, at once."""

from __future__ import annotations

import re

from harness.bench import Bench
from harness.programs import program
from harness.running import under_heapglass

LINE = re.compile(r"heapglass: (\d+)  (.*)  from ([^+ ]+)\+(0x[0-9a-f]+)")
EXPECTED = """\
malloc(40) = A
calloc(21) = A
memalign(100) = A
valloc(11) = A
pvalloc(12) = A
posix_memalign(200) = A
aligned_alloc(64) = A
realloc(NULL, 50) = A
realloc(A, 49) = A, in place
malloc(10) = A
realloc(A, 50000) = A, moved
realloc(A, 0) = NULL, freed
malloc(4611686018427387904) = NULL
calloc(18446744073709551615) = NULL
realloc(NULL, 4611686018427387904) = NULL
free(NULL)
free(A), 40 bytes
free(A), 21 bytes
free(A), 100 bytes
free(A), 200 bytes
free(A), 11 bytes
free(A), 12 bytes
free(A), 64 bytes
realloc(A, 10) = A, in place
free(A), 10 bytes
"""


def test_each_call_is_a_line(bench: Bench) -> None:
    run = bench.record(program("log_calls").argv(), under_heapglass(HEAPGLASS_TRACE="1"))
    assert (run.outcome.status, run.outcome.stdout) == (5, b"done\n")
    matches = [LINE.fullmatch(line) for line in run.outcome.stderr.decode().splitlines()]
    calls = [re.sub(r"0x[0-9a-f]+", "A", match[2]) for match in matches if match]
    assert None not in matches
    assert "\n".join(calls) + "\n" == EXPECTED
    assert {int(match[1]) for match in matches if match} == {run.recording.process.pid}
    name = run.recording.process.executable.rsplit("/", 1)[-1]
    assert {match[3] for match in matches if match} == {name}


def test_without_it_there_is_nothing(bench: Bench) -> None:
    assert bench.record(program("log_calls").argv()).outcome.stderr == b""


def test_threads_lines_are_whole(bench: Bench) -> None:
    run = bench.record(program("log_threads").argv(), under_heapglass(HEAPGLASS_TRACE="1"))
    lines = run.outcome.stderr.decode().splitlines()
    assert all(map(LINE.fullmatch, lines))
    assert sum("  malloc(" in line for line in lines) == 4 * 5000 + 1
