"""A small heap with everything a screen must cope with: long names, inlining, unknown code,
several threads, losses."""

from __future__ import annotations

from dataclasses import replace

from heapglass.model import (
    ChangeReason,
    LiveUnit,
    LossKind,
    Mark,
    Mode,
    ModeChange,
    ProcessState,
    Pseudo,
)
from unit.fake_source import FakeBlocks, FakeSite, FakeSource, estimated, frame, snapshot

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


_MS = 10**6


def historic_heap() -> FakeSource:
    """With blocks, a timeline and snapshots: site 2 grows, 4 is kept, 5 is recent; 8 belongs to the
    C library."""
    heap = sample_heap()
    heap.live = (
        FakeBlocks(2, 104_336, [time * 17 * _MS for time in range(201)]),
        FakeBlocks(3, 167, [100 * _MS + time * _MS for time in range(456)]),
        FakeBlocks(4, 4_096, [20 * _MS]),
        FakeBlocks(5, 16_384, [3_300 * _MS + time * _MS for time in range(10)]),
        FakeBlocks(7, 100, [_MS * 900] * 5),
        FakeBlocks(8, 1_024, [2 * _MS]),
    )
    heap.points = (
        (10 * _MS, 400_000),
        (500 * _MS, 4_000_000),
        (1_000 * _MS, 9_000_000),
        (1_500 * _MS, 18_000_000),
        (2_100 * _MS, 29_498_100),
        (2_500 * _MS, 24_000_000),
        (3_000 * _MS, 22_000_000),
    )
    heap.history = (
        snapshot(1_000 * _MS, [(2, 80, 8_000_000, 90, 9_000_000), (3, 456, 76_543, 460, 80_000)]),
        snapshot(
            2_000 * _MS,
            [
                (2, 120, 12_000_000, 600, 30_000_000),
                (3, 456, 76_543, 9_000, 900_000),
                (4, 1, 4_096, 1, 4_096),
                (5, 20, 327_680, 20, 327_680),
            ],
        ),
    )
    return heap


def estimated_heap() -> FakeSource:
    """The same, of samples."""
    heap = historic_heap()
    heap.made_of = tuple(replace(site, samples=10) for site in SITES)
    heap.history = tuple(estimated(one) for one in heap.history)
    heap.mode, heap.live_unit = "sampled", LiveUnit.USABLE
    return heap


def freed_heap() -> FakeSource:
    """The same, but what had grown until the last snapshot was freed at the end, and one is taken
    at exit."""
    heap = historic_heap()
    heap.made_of = tuple(
        replace(site, frees=site.allocations, bytes_freed=site.bytes_allocated)
        if number == 0
        else site
        for number, site in enumerate(SITES)
    )
    heap.live = heap.live[1:]
    last = snapshot(3_000 * _MS, [(2, 220, 22_000_000, 900, 40_000_000), (4, 1, 4_096, 1, 4_096)])
    exit_ns = heap.process.duration_ns
    heap.history = (*heap.history, last, snapshot(exit_ns, [(4, 1, 4_096, 1, 4_096)]))
    return heap


def marked_heap() -> FakeSource:
    heap = historic_heap()
    heap.named_moments = (
        Mark(10 * _MS, "configuration loaded"),
        Mark(600 * _MS, "serving"),
        Mark(2_400 * _MS, "reload asked for by SIGHUP"),
        Mark(3_300 * _MS, "shutting down"),
    )
    return heap


def later_heap() -> FakeSource:
    """As the sample, rebuilt: other lines and addresses, a clone, another name of the program; one
    site gone, one new, one grown, one shrunk."""
    moved = {one: replace(one, line=one.line + 7, address=one.address + 64) for one in (RUN, MAIN)}
    index = replace(INDEX, function=f"{INDEX.function} [clone .isra.0]", line=1300)
    first, second, _, fourth, fifth, *rest = SITES
    start = (moved[MAIN], *START[1:])
    return FakeSource(
        (
            replace(
                first,
                frames=(NEW, INSERT, index, moved[RUN], *start),
                bytes_allocated=first.bytes_allocated + 4_000_000,
                peak_bytes=first.peak_bytes + 4_000_000,
            ),
            replace(second, peak_bytes=3_000_000),
            FakeSite(
                (frame("warm_up", "/usr/local/src/app/warm.c", 5), *start),
                allocations=2,
                bytes_allocated=100_000,
                peak_blocks=2,
                peak_bytes=100_000,
            ),
            fourth,
            replace(fifth, frames=(NEW, INSERT, index, *THREAD)),
            *rest,
        ),
        thread_names=(("app", 0), ("worker", 1)),
    )


def lossy_heap() -> FakeSource:
    heap = sample_heap()
    heap.loss_items = {LossKind.EARLY: 1, LossKind.STACK_NO_RULE: 7, LossKind.SITES_FULL: 123_456}
    heap.ladder = ("dropping", "budget", 2_500_000_000)
    heap.peak_error_bytes = 1 << 20
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
