"""The mirror of native/include/format.h: every constant and every struct, under the same name.

A C name HG_X is X here, a struct hg_x is the class X. Enumerations that are only ever shown are
tuples of names in the order of their values. tests/unit/recording/test_schema.py compares all of
it with what a C compiler says. Nothing heavy is imported; see layout.py.
"""

from __future__ import annotations

from heapglass.recording.layout import Bytes, Layout, Nested, Number, Numbers

MAGIC = 0x0A736C6770616568
FORMAT_VERSION = 6

PAGE = 4096
STEP = 65536

ARCH_X86_64 = 1
ARCH_AARCH64 = 2

STATE_STARTING = 0
STATE_RUNNING = 1
STATE_EXITED = 2
STATE_SIGNALED = 3
STATE_EXEC = 4

LADDER_RECORDING = 0
LADDER_DROPPING = 1
LADDER_OFF = 2
LADDERS = ("recording", "dropping", "off")

REASONS = (
    "none",
    "disk_full",
    "budget",
    "no_memory",
    "internal",
    "cannot_grow",
    "file_lost",
    "file_overwritten",
)

LOSSES = (
    "reentrant",
    "ledger_full",
    "sites_full",
    "counters_full",
    "early",
    "missed_free",
    "unknown_free",
    "inherited_free",
    "stack_depth",
    "stack_no_rule",
    "stack_bounds",
    "stack_bad_rule",
    "histogram",
    "snapshot",
    "thread",
    "clock",
)
LOSS_COUNT = 16
LOSS_SLOTS = 16

STATS = (
    "walks",
    "frames",
    "stack_misses",
    "rule_misses",
    "foreign_walks",
    "slow_walks",
    "checked",
    "mismatches",
    "general",
    "other_words",
    "full_walks",
    "reused_frames",
)
STAT_COUNT = 12
STAT_SLOTS = 8
STAT_MORE_SLOTS = 8

KIND_NONE = 0
KIND_DIRECTORY = 1
KIND_STRINGS = 2
KIND_MODULES = 3
KIND_NODES = 4
KIND_SITES = 5
KIND_THREADS = 6
KIND_COUNTERS = 7
KIND_HISTOGRAMS = 8
KIND_LEDGER = 9
KIND_LARGE = 10
KIND_TIMELINE = 11
KIND_SNAPSHOTS = 12
KIND_SAMPLES = 13
KIND_MODES = 14
KIND_MARKS = 15
KIND_OUTCOMES = 16
KIND_MIDDLE = 17
KIND_MAPPINGS = 18
KIND_CONTROL = 19
KIND_SCOPES = 20
KIND_SCOPE_SITES = 21
KIND_CODES = 22
KIND_LINES = 23
KIND_ATTACHMENTS = 24
LEAF_GRANULE = 256

DOMAIN_HEAP = 0
DOMAIN_MAPPING = 1
DOMAIN_PYTHON = 2
DOMAIN_DEVICE = 3
DOMAIN_SLOTS = 4

MODULES = 65536
MODULE_MAIN = 1
MODULE_VDSO = 2
MODULE_LOADER = 4

PSEUDO_DEPTH = 1
PSEUDO_NO_RULE = 2
PSEUDO_BOUNDS = 3
PSEUDO_BAD_RULE = 4
PSEUDO_OTHER = 5
PSEUDO_END = 4096
PSEUDO_SAMPLED = 64
PSEUDO_ANNOTATED = 128
NODE_CODE = 0xFFFE
NODE_CODE_SHIFT = 48
NODE_OFFSET_BITS = 24
SAMPLE_SHIFT_LEAST = 8
SAMPLE_SHIFT_MOST = 30
BLOCK_FRACTION = 1024

BUCKETS = 48
COUNTERS_PER_EXTENT = 512

LEDGER_SIZE_BITS = 16
LEDGER_HALF_BITS = 1
LEDGER_BIRTH_BITS = 25
LEDGER_SITE_BITS = 22
LEDGER_RECORDS = 32768
MAX_SITES = 1 << LEDGER_SITE_BITS

MIDDLE_SHIFT = 10
MIDDLE_LEAST = 1 << MIDDLE_SHIFT
MIDDLE_RECORDS = 16384

LARGE_ANNOTATED = 1 << 63

MAPPING_MMAP = 1
MAPPING_BRK = 2
MAPPING_SHM = 3
MAPPING_STACK = 4
MAPPING_ARENA = 5
MAPPING_OURS = 6

TICK_SHIFT = 20
BIRTH_MANTISSA_BITS = 21

FLAG_FORKED = 1
FLAG_NO_POPULATE = 2
FLAG_MULTI_THREADED = 4
FLAG_TRUNCATED = 8
FLAG_USABLE = 16

MODE_EXACT = 1
MODE_SAMPLED = 2
MODE_PAUSED = 3
CHANGE_START = 1
CHANGE_ASKED = 2
CHANGE_OVER = 3
CHANGE_WITHIN = 4
MODE_CHANGES = 2048
MARKS = 65536

SNAPSHOT_TIME = 1
SNAPSHOT_GROWTH = 2
SNAPSHOT_REQUEST = 3
SNAPSHOT_MARK = 4
SNAPSHOT_LIMIT = 5
SNAPSHOT_END = 6

REQUEST_SNAPSHOT = 1
REQUEST_MARK = 2
CONTROL_DONE = 1
CONTROL_REFUSED = 2

RUNTIME_PYTHON = 1


def _u8() -> Number:
    return Number("B")


def _u16() -> Number:
    return Number("H")


def _u32(align: int = 0) -> Number:
    return Number("I", align)


def _u64() -> Number:
    return Number("Q")


def _i64(align: int = 0) -> Number:
    return Number("q", align)


class Extent(Layout):
    kind = _u32()
    owner = _u32()
    offset = _u64()
    length = _u64()
    first = _u64()


class Directory(Layout):
    next = _u64()
    count = _u64()
    capacity = _u64()
    reserved = _u64()
    entries = Nested(Extent, 0)


class Module(Layout):
    start = _u64()
    end = _u64()
    bias = _u64()
    node_first = _u32()
    node_end = _u32()
    path = _u32()
    build_id_length = _u32()
    build_id = Bytes(32)
    file_size = _u64()
    file_mtime_ns = _u64()
    flags = _u32()
    reserved = Numbers("I", 5)


class Node(Layout):
    address = _u64()
    parent = _u32()
    site = _u32()


class DomainTotals(Layout):
    live_bytes = _u64()
    live_blocks = _u64()
    peak_bytes = _u64()
    peak_ns = _u64()


class Site(Layout):
    node = _u32()
    depth = _u16()
    domain = _u8()
    reserved = _u8()
    first_seen = _u64()


class Counters(Layout):
    allocations = _u64()
    frees = _u64()
    bytes_allocated = _u64()
    bytes_freed = _u64()
    saved_bytes = _i64()
    saved_blocks = _i64()
    epoch = _u32()
    size_bucket = _u8()
    lifetime_bucket = _u8()
    usual = _u16()
    temporary = _u64()
    largest = _u64()
    smallest_inverted = _u64()
    realloc_in_place = _u64()
    realloc_moved = _u64()
    realloc_away = _u64()
    size_histogram = _u32()
    lifetime_histogram = _u32()
    size_variances = _u32()
    lifetime_variances = _u32()
    reserved = _u64()


class Samples(Layout):
    allocated = _u64()
    freed = _u64()
    allocated_blocks_variance = Numbers("Q", 2)
    freed_blocks_variance = Numbers("Q", 2)
    allocated_bytes_variance = _u64()
    freed_bytes_variance = _u64()


class Outcomes(Layout):
    temporary_variance = Numbers("Q", 2)
    realloc_in_place_variance = Numbers("Q", 2)
    realloc_moved_variance = Numbers("Q", 2)
    realloc_away_variance = Numbers("Q", 2)


class Histogram(Layout):
    bucket = Numbers("Q", BUCKETS)


class Middle(Layout):
    record = _u64()
    address = _u64()


class Large(Layout):
    address = _u64()
    size = _u64()
    site = _u32()
    birth = _u32()
    pool = _u64()


class ThreadRecord(Layout):
    tid = _u32()
    shard = _u32()
    name = Bytes(16)
    first_seen = _u64()
    last_seen = _u64()
    allocations = _u64()
    frees = _u64()
    bytes_allocated = _u64()
    bytes_freed = _u64()
    usable_allocated = _u64()
    usable_freed = _u64()
    temporary = _u64()
    reallocs = _u64()
    unflushed = _i64()
    stats = Numbers("Q", STAT_SLOTS)
    losses = Numbers("Q", LOSS_SLOTS)
    more_stats = Numbers("Q", STAT_MORE_SLOTS)
    reserved = Numbers("Q", 18)


class Mapping(Layout):
    start = _u64()
    end = _u64()
    site = _u32()
    birth = _u32()
    kind = _u32()
    tid = _u32()


class Point(Layout):
    time = _u64()
    live_bytes = _u64()
    live_blocks = _u64()
    allocations = _u64()
    bytes_allocated = _u64()
    peak_bytes = _u64()
    usable_bytes = _u64()
    frees = _u64()
    mapped_bytes = _u64()
    python_bytes = _u64()
    rss_bytes = _u64()
    page_faults = _u64()
    cpu_ns = _u64()
    threads = _u32()
    reserved = _u32()
    spare = Numbers("Q", 2)


class Arena(Layout):
    used = _u64()
    count = _u64()
    capacity = _u64()
    generation = _u64()
    reserved = Numbers("Q", 4)


class Snapshot(Layout):
    time = _u64()
    length = _u32()
    sites = _u32()
    totals = Nested(Point)
    reason = _u32()
    mark = _u32()


class ModeChange(Layout):
    time = _u64()
    sample_bytes = _u64()
    mode = _u32()
    reason = _u32()
    cost_ppm = _u32()
    reserved = _u32()


class Mark(Layout):
    time = _u64()
    name = _u32()
    tid = _u32()


class Control(Layout):
    sequence = _u64()
    mode = _u32()
    requests = _u32()
    sample_bytes = _u64()
    mark = Bytes(64)
    reserved = Numbers("Q", 4)


class Scope(Layout):
    name = _u32()
    parent = _u32()
    tid = _u32()
    reserved = _u32()
    begin = _u64()
    end = _u64()


class ScopeSite(Layout):
    scope = _u32()
    site = _u32()
    allocations = _u64()
    bytes_allocated = _u64()
    peak_bytes = _u64()
    live_bytes = _u64()
    live_blocks = _u64()


class ForeignCode(Layout):
    runtime = _u32()
    name = _u32()
    file = _u32()
    first_line = _u32()
    lines = _u64()
    lines_length = _u32()
    generation = _u32()


class Attachment(Layout):
    begin = _u64()
    end = _u64()
    bytes_before = _u64()
    blocks_before = _u64()
    frees_before = _u64()
    reserved = Numbers("Q", 3)


class Header(Layout):
    magic = _u64()
    version = _u32()
    arch = _u32()
    header_size = _u32()
    pid = _u32()
    parent_pid = _u32()
    uid = _u32()
    process_start = _u64()
    start_wall_ns = _u64()
    start_mono_ns = _u64()
    end_ns = _u64()
    state = _u32()
    exit_status = _u32()
    exit_signal = _u32()
    ladder = _u32()
    ladder_reason = _u32()
    flags = _u32()
    ladder_ns = _u64()
    capacity = _u64()
    used = _u64()
    directory = _u64()
    file_reserved_bytes = _u64()
    private_bytes = _u64()
    granule_shift = _u32()
    depth_limit = _u32()
    snapshot_interval_ns = _u64()
    snapshot_churn_bytes = _u64()
    sample_bytes = _u64()
    memory_budget = _u64()
    session = _u64()
    strings_used = _u64()
    modules = _u32()
    nodes = _u32()
    sites = _u32()
    threads = _u32()
    shards = _u32()
    histograms = _u32()
    large_segments = _u32()
    timeline_arena = _u32()
    snapshots_arena = _u32()
    recording_number = _u32()
    peak_epoch = _u32(align=64)
    peak_rising = _u32()
    peak_bytes = _u64()
    peak_ns = _u64()
    peak_error_bytes = _u64()
    live_flushed = _i64(align=64)
    usable_shared = _i64()
    usable_peak = _u64()
    usable_peak_error = _u64()
    live_reserved = Numbers("Q", 4)
    losses = Numbers("Q", LOSS_SLOTS)
    executable = Bytes(512)
    working_directory = Bytes(512)
    command_line = Bytes(1024)
    host = Bytes(64)
    command_line_length = _u32()
    command_line_cut = _u32()
    allocator = Bytes(64)
    options = Bytes(256)
    mode = _u32()
    mode_changes = _u32()
    paused_ns = _u64()
    paused_since = _u64()
    budget_ppm = _u32()
    reserved = _u32()
    marks = _u32()
    reserved3 = _u32()
    output_losses = _u64()
    libc = Bytes(32)
    allocator_name = Bytes(32)
    greatest_rss = _u64()
    greatest_rss_ours = _u64()
    unknown_rss = _u64()
    control_sequence = _u64()
    control_ns = _u64()
    control_result = _u32()
    mappings = _u32()
    scopes = _u32()
    scope_sites = _u32()
    codes = _u32()
    attachments = _u32()
    lines_used = _u64()
    domains = Nested(DomainTotals, DOMAIN_SLOTS)
    name = Bytes(64)
    title = Bytes(192)


# What a header of each version has at least; what it lacks reads as zero.
HEADER_SIZES = {
    1: Header.FIELDS["mode"].offset,
    2: Header.FIELDS["marks"].offset,
    3: Header.FIELDS["libc"].offset,
    4: Header.FIELDS["libc"].offset,
    5: Header.FIELDS["libc"].offset,
    6: Header.FIELDS["name"].offset,
}
