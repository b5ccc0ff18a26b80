"""A small heap with everything a screen must cope with: long names, inlining, unknown code,
several threads, losses."""

from __future__ import annotations

from dataclasses import replace

from heapglass.model import (
    ChangeReason,
    LiveUnit,
    LossKind,
    Mode,
    ModeChange,
    ProcessState,
    Pseudo,
)
from unit.fake_source import FakeSite, FakeSource, frame

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"
LIBSTDCXX = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"
LIBXML = "/usr/lib/x86_64-linux-gnu/libxml2.so.2.9.14"

MAIN = frame("main", "/usr/local/src/app/main.cc", 88)
START = (MAIN, frame("__libc_start_main", "", 0, LIBC), frame("_start"))
RUN = frame("app::Server::run(app::Options const&)", "/usr/local/src/app/server.cc", 412)
NEW = frame("operator new(unsigned long)", "", 0, LIBSTDCXX)
INSERT = frame(
    "void std::vector<app::Index<std::basic_string<char>, app::Document>::Node,"
    " std::allocator<app::Index<std::basic_string<char>, app::Document>::Node> >"
    "::_M_realloc_insert<app::Document const&>(app::Document const&)",
    "/usr/include/c++/12/bits/vector.tcc",
    459,
    inlined=True,
)
INDEX = frame(
    "app::Index<std::basic_string<char, std::char_traits<char>, std::allocator<char> >,"
    " app::Document>::insert(app::Document const&)",
    "/usr/local/src/app/index/inverted_index_builder.cc",
    1207,
)
PARSE = frame("xmlParseElementStart", "/build/libxml2/parser.c", 9811, LIBXML)
STRDUP = frame("xmlStrndup", "/build/libxml2/xmlstring.c", 42, LIBXML)
LOAD = frame("load_configuration", "/usr/local/src/app/config.c", 57)
WORKER = frame("app::(anonymous namespace)::worker_main(void*)", "/usr/local/src/app/pool.cc", 31)
THREAD = (WORKER, frame("start_thread", "", 0, LIBC), frame("clone3", "", 0, LIBC))
PLUGIN = frame("", "", 0, "/opt/plugins/libstripped_plugin.so")
BUFFER = frame("_IO_file_doallocate", "", 0, LIBC)

SITES = (
    FakeSite(
        (NEW, INSERT, INDEX, RUN, *START),
        allocations=1_204,
        frees=1_003,
        bytes_allocated=52_428_800,
        bytes_freed=31_457_280,
        peak_blocks=240,
        peak_bytes=25_165_824,
        temporary=12,
    ),
    FakeSite(
        (STRDUP, PARSE, PARSE, PARSE, LOAD, *START),
        allocations=123_456,
        frees=123_000,
        bytes_allocated=9_876_543,
        bytes_freed=9_800_000,
        peak_blocks=30_000,
        peak_bytes=4_000_000,
        temporary=98_765,
    ),
    FakeSite(
        (LOAD, *START),
        allocations=1,
        bytes_allocated=4_096,
        peak_blocks=1,
        peak_bytes=4_096,
    ),
    FakeSite(
        (NEW, WORKER, *THREAD[1:]),
        allocations=40,
        frees=30,
        bytes_allocated=655_360,
        bytes_freed=491_520,
        peak_blocks=20,
        peak_bytes=327_680,
        shard=1,
    ),
    FakeSite(
        (NEW, INSERT, INDEX, *THREAD),
        allocations=2_000_000,
        frees=2_000_000,
        bytes_allocated=3_221_225_472,
        bytes_freed=3_221_225_472,
        temporary=2_000_000,
        shard=1,
    ),
    FakeSite(
        (PLUGIN,),
        allocations=7,
        frees=2,
        bytes_allocated=700,
        bytes_freed=200,
        peak_blocks=5,
        peak_bytes=500,
        cut=Pseudo.NO_RULE,
    ),
    FakeSite((BUFFER, *START), allocations=1, bytes_allocated=1_024),
)


def sample_heap() -> FakeSource:
    return FakeSource(
        SITES,
        thread_names=(("app", 0), ("worker", 1), ("worker", 1)),
        sizes={0: 3, 3: 150, 5: 1_800_000, 6: 220_000, 7: 100_000, 13: 4_000, 16: 500, 25: 1},
        lifetimes={0: 2_050_000, 1: 60_000, 4: 9_000, 8: 4_500, 12: 500, 20: 30},
    )


def lossy_heap() -> FakeSource:
    heap = sample_heap()
    heap.loss_items = {LossKind.EARLY: 1, LossKind.STACK_NO_RULE: 7, LossKind.SITES_FULL: 12_345}
    heap.ladder = ("dropping", "budget", 2_500_000_000)
    heap.peak_error_bytes = 4_096
    return heap


def sampled_heap() -> FakeSource:
    """Within a budget: exact, then sampled; with a pause."""
    heap = sample_heap()
    sampled = (replace(site, samples=index + 1) for index, site in enumerate(SITES[:5]))
    heap.made_of = (*sampled, *SITES[5:])
    heap.mode, heap.live_unit = "sampled", LiveUnit.USABLE
    heap.budget, heap.paused_ns = 0.03, 250_000_000
    heap.changes = (
        ModeChange(0, Mode.EXACT, 0, ChangeReason.START, 0.0),
        ModeChange(10**9, Mode.SAMPLED, 512 << 10, ChangeReason.OVER, 0.0412),
        ModeChange(2 * 10**9, Mode.PAUSED, 512 << 10, ChangeReason.ASKED, 0.0),
        ModeChange(2_250_000_000, Mode.SAMPLED, 512 << 10, ChangeReason.ASKED, 0.0),
    )
    return heap


def running_heap() -> FakeSource:
    heap = sample_heap()
    heap.state, heap.exit_status = ProcessState.RUNNING, None
    return heap


def empty_heap() -> FakeSource:
    return FakeSource(argv=())
