/* The recording: one file, mapped shared by the target, readable by anyone at any moment.
 *
 * This header is the single definition of the format; docs/format.md explains it and a test
 * compares it with src/heapglass/recording/schema.py field by field. It owns layout only: no
 * functions, nothing but fixed-width little-endian fields.
 *
 * How a reader stays safe while the target writes:
 *  - the directory is append-only; an entry is complete before its kind is non-zero;
 *  - records of a table are filled before the word that makes them visible (named below);
 *  - counters are single 64-bit stores; two counters read together may be one event apart;
 *  - a byte never written reads as zero, and zero always means "nothing here".
 */
#ifndef HEAPGLASS_FORMAT_H
#define HEAPGLASS_FORMAT_H

#include <stdint.h>

#define HG_MAGIC UINT64_C(0x0a736c6770616568) /* the bytes "heapgls\n" */
/* 2: sampling, pauses; 3: marks, annotated blocks; 4: with one thread peaks are noted when the total falls
 * from them, a histogram may count what is in the line's own bucket; 5: everything about a sampled site is
 * weighed block by block; 6: blocks of middle size in leaves of their own, and room for what has yet to be
 * filled: mappings, control, scopes, other runtimes' code, attachments, domains (docs/format.md says what is) */
#define HG_FORMAT_VERSION 6u

#define HG_PAGE 4096u
#define HG_STEP 65536u /* extents are whole steps, aligned to a step */

/* Architecture of the recorded process. */
enum hg_arch { HG_ARCH_X86_64 = 1, HG_ARCH_AARCH64 = 2 };

/* Where the process stands. The target moves it forward; `heapglass run`, which alone learns how
 * its child ended, writes the last word. RUNNING with no such process alive means: killed. */
enum hg_state {
    HG_STATE_STARTING = 0,
    HG_STATE_RUNNING = 1,
    HG_STATE_EXITED = 2,   /* exit_status is valid */
    HG_STATE_SIGNALED = 3, /* exit_signal is valid; only ever written by the launcher */
    HG_STATE_EXEC = 4,     /* replaced by another program; that one has its own recording */
};

/* The failure ladder: one way down, never up. */
enum hg_ladder {
    HG_LADDER_RECORDING = 0,
    HG_LADDER_DROPPING = 1, /* something is full: what no longer fits is counted in losses */
    HG_LADDER_OFF = 2,      /* plain pass-through */
};

/* Why the ladder was stepped down. */
enum hg_reason {
    HG_REASON_NONE = 0,
    HG_REASON_DISK_FULL = 1, /* the file system or a quota refused space */
    HG_REASON_BUDGET = 2,    /* HEAPGLASS_MEMORY or the file's capacity is used up */
    HG_REASON_NO_MEMORY = 3, /* the kernel refused private memory (RLIMIT_AS, overcommit) */
    HG_REASON_INTERNAL = 4,  /* an internal check failed */
    HG_REASON_CANNOT_GROW =
        5,                   /* the file was out of reach, or the program's sandbox lets no more */
    HG_REASON_FILE_LOST = 6, /* the file was cut short by someone else, or its disk failed */
    HG_REASON_FILE_OVERWRITTEN = 7, /* someone else wrote another header over the recording's */
};

/* What was not seen or had to be approximated; indexes hg_thread_record.losses and
 * hg_header.losses. All are numbers of events. */
enum hg_loss {
    HG_LOSS_REENTRANT =
        0, /* allocation made while this thread was inside heapglass (a signal handler) */
    HG_LOSS_LEDGER_FULL = 1,     /* allocation not recorded: no room for its ledger record */
    HG_LOSS_SITES_FULL = 2,      /* allocation counted under site 1 instead of its own */
    HG_LOSS_COUNTERS_FULL = 3,   /* event not counted: no room for the site's counters */
    HG_LOSS_EARLY = 4,           /* allocation before the recording could start */
    HG_LOSS_MISSED_FREE = 5,     /* block found replaced by a new one: its free was not seen */
    HG_LOSS_UNKNOWN_FREE = 6,    /* free of a block never recorded */
    HG_LOSS_INHERITED_FREE = 7,  /* free of a block that a forked process got from its parent */
    HG_LOSS_STACK_DEPTH = 8,     /* stack cut at the depth limit */
    HG_LOSS_STACK_NO_RULE = 9,   /* stack ended early: code without unwind information */
    HG_LOSS_STACK_BOUNDS = 10,   /* stack ended early: a frame pointed outside the stack */
    HG_LOSS_STACK_BAD_RULE = 11, /* stack ended early: unwind information not understood */
    HG_LOSS_HISTOGRAM = 12,      /* value not in a histogram: no room for one */
    HG_LOSS_SNAPSHOT = 13,       /* snapshot skipped or thinned before its time */
    HG_LOSS_THREAD = 14,         /* event of a thread that no record could be made for */
    HG_LOSS_CLOCK = 15,          /* event dated too early by more than 0.1 s; see clock.h */
    HG_LOSS_COUNT = 16,
};
#define HG_LOSS_SLOTS 16u

/* How the recorder did its work; indexes hg_thread_record.stats, then more_stats. */
enum hg_stat {
    HG_STAT_WALKS = 0,         /* stacks that the thread did not recall */
    HG_STAT_FRAMES = 1,        /* frames walked for them */
    HG_STAT_STACK_MISSES = 2,  /* of the walked stacks, those new to the thread, or long not seen */
    HG_STAT_RULE_MISSES = 3,   /* unwind rules parsed */
    HG_STAT_FOREIGN_WALKS = 4, /* walks on a stack that is not the thread's own */
    HG_STAT_SLOW_WALKS = 5,    /* walks redone with every register tracked */
    HG_STAT_CHECKED = 6,       /* test builds: stacks walked twice to compare */
    HG_STAT_MISMATCHES = 7,    /* test builds: ... and found different */
    HG_STAT_GENERAL = 8,       /* events that did not go the short way */
    HG_STAT_OTHER_WORDS = 9,   /* stacks recognised by a hash of their words */
    HG_STAT_FULL_WALKS = 10, /* of the walked stacks, those for which no earlier walk could serve */
    HG_STAT_REUSED_FRAMES = 11, /* frames that walked stacks had in common with the walk before */
    HG_STAT_COUNT = 12,
};
#define HG_STAT_SLOTS 8u /* in stats; the others are in more_stats */
#define HG_STAT_MORE_SLOTS 8u

/* ---- directory ------------------------------------------------------------------------- */

enum hg_kind {
    HG_KIND_NONE = 0, /* abandoned extent, skip */
    HG_KIND_DIRECTORY = 1,
    HG_KIND_STRINGS = 2,
    HG_KIND_MODULES = 3,
    HG_KIND_NODES = 4,
    HG_KIND_SITES = 5,
    HG_KIND_THREADS = 6,
    HG_KIND_COUNTERS = 7,
    HG_KIND_HISTOGRAMS = 8,
    HG_KIND_LEDGER = 9,
    HG_KIND_LARGE = 10,
    HG_KIND_TIMELINE = 11,
    HG_KIND_SNAPSHOTS = 12,
    HG_KIND_SAMPLES = 13,
    HG_KIND_MODES = 14,
    HG_KIND_MARKS = 15,
    HG_KIND_OUTCOMES = 16,
    /* since version 6 */
    HG_KIND_MIDDLE = 17,
    HG_KIND_MAPPINGS = 18,
    HG_KIND_CONTROL = 19,
    HG_KIND_SCOPES = 20,
    HG_KIND_SCOPE_SITES = 21,
    HG_KIND_CODES = 22,
    HG_KIND_LINES = 23,
    HG_KIND_ATTACHMENTS = 24,
};

/* One extent. `first` is the index of its first record (NODES, SITES, MODULES, THREADS; COUNTERS,
 * SAMPLES and OUTCOMES: the site id; HISTOGRAMS, MODES, MARKS), the offset of its first byte (STRINGS),
 * the heap address it starts to cover (LEDGER, MIDDLE), the segment number (LARGE) or the arena number 0
 * or 1 (TIMELINE, SNAPSHOTS). `owner` is the shard (COUNTERS, SAMPLES, OUTCOMES); of a leaf (LEDGER,
 * MIDDLE), since version 6, the domain of its blocks plus HG_LEAF_GRANULE times the logarithm of its
 * granule; else 0. */
struct hg_extent {
    uint32_t kind;
    uint32_t owner;
    uint64_t offset; /* in the file */
    uint64_t length; /* in bytes; reserved step by step, unreserved parts read as zero */
    uint64_t first;
};

/* A directory block: the first one follows the header page, later ones are extents of their own.
 * The first min(count, capacity) entries are in use; one whose kind is 0 is not valid, or not yet.
 * `next` is the file offset of the next block, 0 if none. */
struct hg_directory {
    uint64_t next;
    uint64_t count;
    uint64_t capacity;
    uint64_t reserved;
    struct hg_extent entries[];
};

#define HG_LEAF_GRANULE 256u

/* ---- tables ------------------------------------------------------------------------------ */

/* What memory is of. A site is of one domain, and so are its counters; at most 256. */
enum hg_domain {
    HG_DOMAIN_HEAP = 0,
    HG_DOMAIN_MAPPING = 1,
    HG_DOMAIN_PYTHON = 2, /* pymalloc's */
    HG_DOMAIN_DEVICE = 3,
};
#define HG_DOMAIN_SLOTS 4u /* that the header has totals of */

/* One domain's totals; of the heap they stand elsewhere in the header, and in points. */
struct hg_domain_totals {
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t peak_bytes;
    uint64_t peak_ns; /* ns since start */
};

/* A loaded object, or rather one generation of it: an address range reused after dlclose is
 * another module. A node with id n and an address in [start, end) belongs to the module for which
 * node_first <= n < node_end. Visible when `start` is non-zero. */
struct hg_module {
    uint64_t start;
    uint64_t end;
    uint64_t bias;       /* run-time address minus address in the file */
    uint32_t node_first; /* nodes from here on may belong to it */
    uint32_t node_end;   /* first node that no longer may; 0xffffffff while loaded */
    uint32_t path;       /* offset in STRINGS */
    uint32_t build_id_length;
    uint8_t build_id[32];
    uint64_t file_size;     /* of the file when it was first seen; 0 unknown */
    uint64_t file_mtime_ns; /* of the file when it was first seen; 0 unknown */
    uint32_t flags;         /* HG_MODULE_* */
    uint32_t reserved[5];
};
#define HG_MODULES 65536u   /* are kept; later ones are only counted */
#define HG_MODULE_MAIN 1u   /* the executable */
#define HG_MODULE_VDSO 2u   /* provided by the kernel, no file */
#define HG_MODULE_LOADER 4u /* the dynamic loader */

/* A node of the call tree: one return address called from its parent. Node 0 is the root and has
 * no record. An address below HG_PSEUDO_END is no code but the reason why the stack ends there.
 * Visible when `address` is non-zero. */
struct hg_node {
    uint64_t address;
    uint32_t parent;
    uint32_t site; /* the site whose innermost frame this is, or 0 */
};
enum hg_pseudo {
    HG_PSEUDO_DEPTH = 1,    /* cut at the depth limit: outer frames are missing */
    HG_PSEUDO_NO_RULE = 2,  /* code without unwind information */
    HG_PSEUDO_BOUNDS = 3,   /* a frame pointed outside the stack */
    HG_PSEUDO_BAD_RULE = 4, /* unwind information not understood */
    HG_PSEUDO_OTHER = 5,    /* "all other stacks": the call tree is full */
};
/* A stack whose blocks were sampled is a site of its own: its innermost node is no frame but
 * HG_PSEUDO_SAMPLED plus the interval's logarithm; the stack proper begins at that node's parent. */
#define HG_PSEUDO_SAMPLED 64u
#define HG_SAMPLE_SHIFT_LEAST 8u /* intervals are powers of two, from 256 bytes */
#define HG_SAMPLE_SHIFT_MOST 30u /* to 1 GiB */
/* Blocks that a program said its own allocator handed out are sites of their own in the same way, their
 * innermost node being this one. They lie inside of other blocks, or of mapped memory: they count
 * neither in threads' records nor in points, totals and peak. */
#define HG_PSEUDO_ANNOTATED 128u
#define HG_PSEUDO_END 4096u
/* What a node's `address` is, by its top 16 bits: 0 a return address, HG_NODE_CODE a place in another runtime's
 * code, whose id in CODES is in the 24 bits below and the offset in that code in the lowest 24. */
#define HG_NODE_CODE UINT64_C(0xfffe)
#define HG_NODE_CODE_SHIFT 48u
#define HG_NODE_OFFSET_BITS 24u

/* A site: a distinct stack. Site 0 is no site; site 1 stands for all stacks that found no room.
 * Visible when `node` is non-zero. */
struct hg_site {
    uint32_t node;
    uint16_t depth; /* real frames, pseudo frames not counted */
    uint8_t domain; /* enum hg_domain; since version 6 */
    uint8_t reserved;
    uint64_t first_seen; /* ns since start */
};

/* One site's counters in one shard. The site's value is the sum over shards; in one shard a
 * difference may be negative (allocated here, freed there).
 * Live at the process's peak, for one line: if header.peak_rising, or more is live than
 * header.peak_bytes and HG_FLAG_MULTI_THREADED is not set or HG_FLAG_USABLE is, its live value; else if
 * epoch == header.peak_epoch, the saved value; else its live value. */
struct hg_counters {
    uint64_t allocations; /* a realloc that resized a block counts as a free and an allocation */
    uint64_t frees;
    uint64_t bytes_allocated;
    uint64_t bytes_freed;
    int64_t saved_bytes;  /* live bytes when the peak of `epoch` was reached */
    int64_t saved_blocks; /* live blocks then */
    uint32_t epoch;
    uint8_t size_bucket;     /* the bucket of the first size, plus 1; 0: none yet */
    uint8_t lifetime_bucket; /* likewise for lifetimes */
    uint16_t usual;     /* for the recorder: a size that changes nothing but the counts; 0: none */
    uint64_t temporary; /* freed before the thread's next allocation */
    uint64_t largest;   /* requested size */
    uint64_t smallest_inverted; /* ~smallest requested size; 0 when there was none */
    uint64_t realloc_in_place;  /* reallocs that arrived here and kept their address */
    uint64_t realloc_moved;     /* reallocs that arrived here and moved */
    uint64_t realloc_away;      /* frees that were the leaving side of a realloc */
    uint32_t
        size_histogram; /* index in HISTOGRAMS of the sizes in other buckets; 0: there are none */
    uint32_t lifetime_histogram; /* likewise */
    /* since version 5, of a sampled site: the first of two histograms with the variances of what the other
     * one counts, low words in the first and high words in the second, as in hg_samples */
    uint32_t size_variances;
    uint32_t lifetime_variances;
    uint64_t reserved;
};
#define HG_COUNTERS_PER_EXTENT 512u

/* Of a sampled site, hg_counters.allocations, frees and saved_blocks, here and in snapshots, and since
 * version 5 temporary, realloc_* and histograms, are estimates in this fraction of a block; bytes_* and
 * saved_bytes are estimated bytes. (Before version 5 all else counted the samples themselves.) */
#define HG_BLOCK_FRACTION 1024u

/* Beside one sampled site's counters in one shard: how many blocks the estimates rest on, and the
 * estimated variance of these, of what was allocated less what was freed = of what is live. A block
 * of size s, taken with probability 1/w, adds w^2 - w to that of blocks, in 1/65536ths, low word
 * first; and s^2 (w^2 - w) to that of bytes, in units of (interval/256)^2. */
struct hg_samples {
    uint64_t allocated;
    uint64_t freed;
    uint64_t allocated_blocks_variance[2];
    uint64_t freed_blocks_variance[2];
    uint64_t allocated_bytes_variance;
    uint64_t freed_bytes_variance;
};

/* Likewise of the line's counts of temporary blocks and reallocs; since version 5. Nothing where there were
 * none. */
struct hg_outcomes {
    uint64_t temporary_variance[2];
    uint64_t realloc_in_place_variance[2];
    uint64_t realloc_moved_variance[2];
    uint64_t realloc_away_variance[2];
};

/* Log2 buckets: bucket 0 holds the value 0, bucket b the values in [2^(b-1), 2^b); the last one
 * everything above. Sizes in bytes, lifetimes in ticks. A line's histogram counts the values outside
 * the line's own bucket (size_bucket, lifetime_bucket); what it has of that bucket means nothing: there
 * are all others, and most lines have no others (sizes: of `allocations`; lifetimes: of `frees -
 * realloc_away`). */
#define HG_BUCKETS 48u
struct hg_histogram {
    uint64_t bucket[HG_BUCKETS];
};

/* The ledger: one 8-byte record per granule (the leaf's, see hg_extent; of 0, as before version 6,
 * header.granule_shift) of heap, at the granule in which a live block starts:
 * size:16 | half:1 | birth:25 | site:22 (low bits first). `half` is 1 when the block starts in the middle
 * of its granule. Zero: no block starts here. Blocks of 1 KiB and more may be in MIDDLE. Blocks of 64 KiB
 * and more, sampled blocks, blocks at addresses above 2^47, tiny ones where two may start in a granule, and
 * a few others are in LARGE. */
#define HG_LEDGER_SIZE_BITS 16u
#define HG_LEDGER_HALF_BITS 1u
#define HG_LEDGER_BIRTH_BITS 25u
#define HG_LEDGER_SITE_BITS 22u
#define HG_LEDGER_RECORDS 32768u /* per LEDGER extent */
#define HG_MAX_SITES (1u << HG_LEDGER_SITE_BITS)

/* A block of 1 KiB to 64 KiB, in a leaf whose granule is 1 KiB, at the granule in which it starts. Visible
 * when `record` is non-zero; else `address` means nothing. */
struct hg_middle {
    uint64_t record; /* as in the ledger, `half` meaning nothing */
    uint64_t address;
};
#define HG_MIDDLE_SHIFT 10u
#define HG_MIDDLE_LEAST \
    (1u << HG_MIDDLE_SHIFT)      /* bytes: of two such blocks one granule has one start */
#define HG_MIDDLE_RECORDS 16384u /* per MIDDLE extent */

/* Birth codes: ticks since start, exact below 2^22 (73 minutes), then with 21 significant bits below
 * the top one:  code < 2^22: ticks = code;  else e = code >> 21, ticks = (2^21 + (code & (2^21-1)))
 * << (e-1). */
#define HG_TICK_SHIFT 20u /* one tick is 2^20 ns, about a millisecond */
#define HG_BIRTH_MANTISSA_BITS 21u

/* A large block. Segments are open-addressed tables; a slot with address 0 is free. Visible when
 * `address` is above 1 (1: being filled). An annotated block has HG_LARGE_ANNOTATED added to its
 * address, which may be that of the block it lies in. */
#define HG_LARGE_ANNOTATED (UINT64_C(1) << 63)
struct hg_large {
    uint64_t address;
    uint64_t size;
    uint32_t site;
    uint32_t birth; /* birth code */
    uint64_t pool;  /* of an annotated block: what the program calls its pool; 0: none */
};

/* A thread that allocated or freed. The process's totals are the sums over these records. A shard
 * may have served several threads, one after the other.
 * Visible when `tid` is non-zero. */
struct hg_thread_record {
    uint32_t tid;
    uint32_t shard;
    char name[16];
    uint64_t first_seen; /* ns since start */
    uint64_t last_seen;  /* ns since start, refreshed now and then */
    uint64_t allocations;
    uint64_t frees;
    uint64_t bytes_allocated;
    uint64_t bytes_freed;
    uint64_t usable_allocated; /* bytes the allocator really set aside */
    uint64_t usable_freed;
    uint64_t temporary;
    uint64_t reallocs; /* also counted once each in allocations and frees */
    /* Live bytes not yet in header.live_flushed; of a thread that has always been the only one 0. */
    int64_t unflushed;
    uint64_t stats[HG_STAT_SLOTS];
    uint64_t losses[HG_LOSS_SLOTS];
    uint64_t more_stats[HG_STAT_MORE_SLOTS]; /* from HG_STAT_SLOTS on; from version 2 on */
    uint64_t reserved[18];
};

/* A range of memory that is none of the allocator's blocks. Visible when `start` is non-zero. */
struct hg_mapping {
    uint64_t start; /* addresses */
    uint64_t end;
    uint32_t site;  /* 0: nobody saw it made */
    uint32_t birth; /* birth code */
    uint32_t kind;  /* enum hg_mapping_kind */
    uint32_t tid;   /* of a stack: the thread; else 0 */
};
enum hg_mapping_kind {
    HG_MAPPING_MMAP = 1,
    HG_MAPPING_BRK = 2,
    HG_MAPPING_SHM = 3,
    HG_MAPPING_STACK = 4,
    HG_MAPPING_ARENA = 5, /* the allocator's own */
    HG_MAPPING_OURS = 6,  /* the recorder's private memory */
};

/* Totals at one moment. TIMELINE arenas are arrays of these behind an hg_arena. Before version 6 a point
 * ended with the first 64 bytes. */
struct hg_point {
    uint64_t time; /* ns since start */
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t allocations;
    uint64_t bytes_allocated;
    uint64_t peak_bytes; /* highest live_bytes until then */
    uint64_t usable_bytes;
    uint64_t frees;
    uint64_t mapped_bytes; /* live in domain MAPPING */
    uint64_t python_bytes; /* live in domain PYTHON */
    uint64_t rss_bytes;
    uint64_t page_faults; /* until then, as the next one */
    uint64_t cpu_ns;
    uint32_t threads; /* alive */
    uint32_t reserved;
    uint64_t spare[2];
};

/* TIMELINE and SNAPSHOTS each have two arenas; header.*_arena names the one in use. When it is
 * full a thinned copy is written to the other and header.*_arena flips, so a reader (and a kill)
 * finds a whole one at any moment. */
struct hg_arena {
    uint64_t used;  /* bytes behind this struct, published after them */
    uint64_t count; /* entries in them */
    uint64_t capacity;
    uint64_t generation; /* how often thinned */
    uint64_t reserved[4];
};

/* A snapshot: this header, then `length` bytes of deltas against the snapshot before it (the first
 * in an arena: against nothing). One delta: varint(site - previous site in this snapshot), then
 * zigzag varints of the change in live_blocks, live_bytes, allocations, bytes_allocated.
 * Entries start 8-byte aligned. */
struct hg_snapshot {
    uint64_t time; /* ns since start */
    uint32_t length;
    uint32_t sites; /* deltas in it */
    struct hg_point totals;
    /* since version 6 */
    uint32_t reason; /* enum hg_snapshot_reason */
    uint32_t mark;   /* of reason MARK: its index, plus 1 */
};
enum hg_snapshot_reason {
    HG_SNAPSHOT_TIME = 1,
    HG_SNAPSHOT_GROWTH = 2,  /* by bytes allocated and freed, or by a growing total */
    HG_SNAPSHOT_REQUEST = 3, /* from outside, or by the program */
    HG_SNAPSHOT_MARK = 4,
    HG_SNAPSHOT_LIMIT = 5, /* near a limit */
    HG_SNAPSHOT_END = 6,
};

/* A change of how events are recorded, and why. Visible when `mode` is non-zero. */
enum hg_mode {
    HG_MODE_EXACT = 1,
    HG_MODE_SAMPLED = 2,
    HG_MODE_PAUSED = 3,
};
enum hg_change_reason {
    HG_CHANGE_START = 1,  /* as it was asked for when the program began */
    HG_CHANGE_ASKED = 2,  /* the program called heapglass_pause() or heapglass_resume() */
    HG_CHANGE_OVER = 3,   /* recording cost more than the budget: cost_ppm */
    HG_CHANGE_WITHIN = 4, /* it cost so little that more may be recorded */
};
struct hg_mode_change {
    uint64_t time;         /* ns since start */
    uint64_t sample_bytes; /* the interval from then on; 0: exact */
    uint32_t mode;         /* enum hg_mode, from then on */
    uint32_t reason;       /* enum hg_change_reason */
    uint32_t cost_ppm;     /* what recording took of the program's processor time, measured; or 0 */
    uint32_t reserved;
};
#define HG_MODE_CHANGES 2048u /* are kept; later ones are only counted */

/* A moment that the program gave a name. Visible when `name` is non-zero. */
struct hg_mark {
    uint64_t time; /* ns since start */
    uint32_t name; /* offset in STRINGS */
    uint32_t tid;  /* of the thread */
};
#define HG_MARKS 65536u /* are kept; later ones are only counted */

/* The page that whoever steers the recording from outside writes: its file's owner, or root. The target
 * looks at it now and then, and answers in header.control_*. */
struct hg_control {
    uint64_t sequence;     /* written last: another one is another request */
    uint32_t mode;         /* wanted, enum hg_mode; 0: as it is */
    uint32_t requests;     /* HG_REQUEST_* */
    uint64_t sample_bytes; /* the interval wanted, of mode SAMPLED */
    char mark[64];         /* its name, NUL-terminated */
    uint64_t reserved[4];
};
#define HG_REQUEST_SNAPSHOT 1u
#define HG_REQUEST_MARK 2u
enum hg_control_result {
    HG_CONTROL_DONE = 1,
    HG_CONTROL_REFUSED = 2, /* the recording cannot do that */
};

/* A part of a run that the program named. Visible when `name` is non-zero. */
struct hg_scope {
    uint32_t name;   /* offset in STRINGS */
    uint32_t parent; /* the scope around it, its index plus 1; 0: none */
    uint32_t tid;    /* whose it is; 0: the whole process's */
    uint32_t reserved;
    uint64_t begin; /* ns since start */
    uint64_t end;   /* ns since start, plus 1; 0: it has not ended */
};
/* What one site did in one scope. Visible when `site` is non-zero. */
struct hg_scope_site {
    uint32_t scope;
    uint32_t site;
    uint64_t allocations;
    uint64_t bytes_allocated;
    uint64_t peak_bytes;
    uint64_t live_bytes; /* at the scope's end */
    uint64_t live_blocks;
};

/* A piece of another runtime's code, as it was when it was first seen; its id is its index. Visible when
 * `runtime` is non-zero. */
struct hg_foreign_code {
    uint32_t runtime; /* enum hg_runtime */
    uint32_t name;    /* qualified; offset in STRINGS, as the next one */
    uint32_t file;
    uint32_t first_line;
    uint64_t lines; /* its line table, as the runtime has it: offset in LINES */
    uint32_t lines_length;
    uint32_t generation; /* how many codes had died before it was seen: ids are not used again */
};
enum hg_runtime { HG_RUNTIME_PYTHON = 1 };

/* A time during which the process was recorded; where it was from start to end there are none. Visible when
 * `begin` is non-zero. */
struct hg_attachment {
    uint64_t begin;         /* ns since start, plus 1 */
    uint64_t end;           /* likewise; 0: it has not ended */
    uint64_t bytes_before;  /* usable, of blocks that were live already; 0: not known */
    uint64_t blocks_before; /* likewise */
    uint64_t frees_before;  /* of such blocks */
    uint64_t reserved[3];
};

/* ---- header -------------------------------------------------------------------------------- */

struct hg_header {
    uint64_t magic;
    uint32_t version;
    uint32_t arch;
    uint32_t header_size; /* of this struct */
    uint32_t pid;
    uint32_t parent_pid;
    uint32_t uid;
    uint64_t process_start; /* field 22 of /proc/PID/stat, to tell a reused pid; 0 unknown */
    uint64_t start_wall_ns; /* CLOCK_REALTIME when the recording began */
    uint64_t start_mono_ns; /* CLOCK_MONOTONIC_COARSE then; times are relative to it */
    uint64_t end_ns;        /* ns since start when the process was seen to end; 0 if not */
    uint32_t state;         /* enum hg_state */
    uint32_t exit_status;
    uint32_t exit_signal;
    uint32_t ladder; /* enum hg_ladder */
    uint32_t ladder_reason;
    uint32_t flags;     /* HG_FLAG_* */
    uint64_t ladder_ns; /* ns since start of the last step down */

    /* the file */
    uint64_t capacity;            /* bytes of file it may use */
    uint64_t used;                /* bytes of file in use, multiple of HG_STEP */
    uint64_t directory;           /* offset of the first directory block */
    uint64_t file_reserved_bytes; /* bytes of file really reserved: our memory in the file */
    uint64_t private_bytes;       /* our memory outside the file */

    /* how it was recorded */
    uint32_t granule_shift;
    uint32_t depth_limit;
    uint64_t snapshot_interval_ns;
    uint64_t snapshot_churn_bytes; /* 0: by time only */
    uint64_t sample_bytes;         /* the interval now; 0: exact */
    uint64_t memory_budget;        /* 0: none */
    uint64_t session;              /* shared by all processes of one `heapglass run` */

    /* table sizes: records handed out, some may not be visible yet */
    uint64_t strings_used; /* bytes */
    uint32_t modules;
    uint32_t nodes;
    uint32_t sites;
    uint32_t threads;
    uint32_t shards;
    uint32_t histograms;
    uint32_t large_segments;
    uint32_t timeline_arena;
    uint32_t snapshots_arena;
    uint32_t recording_number; /* which recording of this pid, from 0 (exec chains) */

    /* the peak; every event reads the epoch, so what changes more often has a line of its own */
    uint32_t peak_epoch __attribute__((aligned(64)));
    uint32_t peak_rising; /* the process is at its peak right now */
    uint64_t peak_bytes;
    uint64_t peak_ns;          /* ns since start */
    uint64_t peak_error_bytes; /* how far peak_bytes may be below the truth */
    int64_t live_flushed
        __attribute__((aligned(64))); /* live bytes, but for the threads' `unflushed` */
    /* since version 3; in light recordings the peak above is that of usable bytes */
    int64_t usable_shared; /* usable bytes in use that threads have told of; 0 with one thread */
    uint64_t usable_peak;  /* the most ever; what is in use now may be more, and then is it */
    uint64_t usable_peak_error; /* how far usable_peak may be off the truth */
    uint64_t live_reserved[4];

    uint64_t losses[HG_LOSS_SLOTS]; /* those no thread record could be found for */

    /* NUL-terminated, cut where too long */
    char executable[512];
    char working_directory[512];
    char command_line
        [1024]; /* arguments, each NUL-terminated; an empty one ends the list early only at the end */
    char host[64];
    uint32_t command_line_length;
    uint32_t command_line_cut; /* 1 when arguments are missing */
    char allocator[64];        /* file name of the object the real malloc is in */
    char options[256];         /* HEAPGLASS_* as given, NUL-separated */

    /* since version 2 */
    uint32_t mode;         /* enum hg_mode, now */
    uint32_t mode_changes; /* so far, the start not being one unless it was not exact */
    uint64_t paused_ns;    /* in all, but for the pause under way */
    uint64_t paused_since; /* ns since start, plus 1, of the pause under way; 0: there is none */
    uint32_t budget_ppm;   /* of processor time, that the mode is chosen by; 0: none */
    uint32_t reserved;

    /* since version 3 */
    uint32_t marks; /* so far */
    uint32_t reserved3;
    uint64_t
        output_losses; /* times that a text output besides the recording could not be written */

    /* since version 6 */
    char libc[32];              /* the C library that was met, with its version */
    char allocator_name[32];    /* what the allocator is; other than `allocator` no file's name */
    uint64_t greatest_rss;      /* bytes, of this program, as far as it is known; 0: it is not */
    uint64_t greatest_rss_ours; /* of them, the recorder's, when that was noted */
    uint64_t unknown_rss;       /* up to here it may have been more, unseen */
    uint64_t control_sequence;  /* of the last request that was seen to */
    uint64_t control_ns;        /* ns since start when that was */
    uint32_t control_result;    /* enum hg_control_result */
    /* table sizes */
    uint32_t mappings;
    uint32_t scopes;
    uint32_t scope_sites;
    uint32_t codes;
    uint32_t attachments;
    uint64_t lines_used; /* bytes */
    struct hg_domain_totals domains[HG_DOMAIN_SLOTS];
    char name[64];   /* by which the program was started, cut where too long */
    char title[192]; /* that it has written over its arguments since; empty: none */
};

#define HG_FLAG_FORKED 1u      /* forked without exec from a recorded process */
#define HG_FLAG_NO_POPULATE 2u /* kernel without MADV_POPULATE_WRITE: space was reserved up front */
#define HG_FLAG_MULTI_THREADED 4u /* more than one thread was seen */
#define HG_FLAG_TRUNCATED 8u      /* cut to what is used */
/* Not every block's requested size is known when it is freed: usable bytes are what is live in
 * hg_point and at the peak; hg_thread_record.bytes_freed and temporary say nothing. */
#define HG_FLAG_USABLE 16u

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct hg_extent) == 32, "extent");
_Static_assert(sizeof(struct hg_directory) == 32, "directory");
_Static_assert(sizeof(struct hg_module) == 112, "module");
_Static_assert(sizeof(struct hg_node) == 16, "node");
_Static_assert(sizeof(struct hg_site) == 16, "site");
_Static_assert(sizeof(struct hg_counters) == 128, "counters");
_Static_assert(sizeof(struct hg_samples) == 64, "samples");
_Static_assert(sizeof(struct hg_outcomes) == 64, "outcomes");
_Static_assert(sizeof(struct hg_mode_change) == 32, "mode change");
_Static_assert(sizeof(struct hg_mark) == 16, "mark");
_Static_assert(sizeof(struct hg_histogram) == 384, "histogram");
_Static_assert(sizeof(struct hg_large) == 32, "large");
_Static_assert(sizeof(struct hg_thread_record) == 512, "thread");
_Static_assert(sizeof(struct hg_point) == 128, "point");
_Static_assert(sizeof(struct hg_middle) == 16, "middle");
_Static_assert(sizeof(struct hg_mapping) == 32, "mapping");
_Static_assert(sizeof(struct hg_control) == 120, "control");
_Static_assert(sizeof(struct hg_scope) == 32, "scope");
_Static_assert(sizeof(struct hg_scope_site) == 48, "scope's site");
_Static_assert(sizeof(struct hg_foreign_code) == 32, "code");
_Static_assert(sizeof(struct hg_attachment) == 64, "attachment");
_Static_assert(sizeof(struct hg_domain_totals) == 32, "domain");
_Static_assert(sizeof(struct hg_arena) == 64, "arena");
_Static_assert(sizeof(struct hg_snapshot) == 152, "snapshot");
_Static_assert(sizeof(struct hg_header) <= HG_PAGE, "header");
#endif

#endif
