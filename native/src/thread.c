#include "thread.h"

#include "clock.h"
#include "mode.h"
#include "modules.h"
#include "peak.h"
#include "recording.h"
#include "share.h"
#include "sites.h"
#include "sys.h"

#define MAX_THREADS (1u << 20)
#define SLOTS_TO_ASK 8u /* per new thread, how many old ones are asked whether they live */
#define USUALLY_TOUCHED (UINT64_C(192) << 10) /* bytes of a thread's block */
#define SHARE_OF_WHAT_IS_LEFT 128u /* of addresses, for the words of a thread's memories */
#define FEWEST_MEMORIES 32u
#define WAIT_FOR_FIRST 1000u   /* yields */
#define SLOTS_KEPT_BY_NAME 64u /* until then a slot goes only to threads of the same name */

/* Nobody's countdown has always ended, and nobody's total is always about to fall. */
static struct hg_thread_record g_nobodys_record;
#define NOBODYS \
    .tallied = &g_nobodys_record, .sampler.left = INT64_MIN / 2, .tally.falling = INT64_MIN

/* What an event looks at before it knows that the thread is nobody: the rest, which is most of a thread, would be
 * megabytes of the library's file, and of the addresses that a program may be limited to. */
#define SEEN_BYTES offsetof(struct hg_thread, recall)
struct nobody {
    _Alignas(struct hg_thread) uint64_t state;
    uint8_t before[offsetof(struct hg_thread, tallied) - sizeof(uint64_t)];
    struct hg_thread_record *tallied;
    struct hg_tally tally;
    struct hg_sampler sampler;
    uint8_t behind[SEEN_BYTES - offsetof(struct hg_thread, sampler) - sizeof(struct hg_sampler)];
};
_Static_assert(offsetof(struct nobody, tallied) == offsetof(struct hg_thread, tallied) &&
                   offsetof(struct nobody, tally) == offsetof(struct hg_thread, tally) &&
                   offsetof(struct nobody, sampler) == offsetof(struct hg_thread, sampler) &&
                   sizeof(struct nobody) >= SEEN_BYTES,
               "nobody begins as a thread does");
static struct nobody g_unknown_thread = {NOBODYS};
static struct nobody g_refused_thread = {.state = HG_THREAD_REFUSED, NOBODYS};
__thread struct hg_thread *tls_thread __attribute__((tls_model("initial-exec"))) =
    (struct hg_thread *)&g_unknown_thread;

static struct {
    struct hg_table records;
    struct hg_thread **slots; /* by shard number */
    uint32_t limit;           /* ... of which there are so many at most */
    uint32_t shards;          /* handed out */
    uint32_t count;           /* records handed out */
    uint32_t ask_next;
    struct hg_totals retired; /* of threads whose slot went to another */
    uint32_t moves_begun;     /* of slots from one thread to another; more than ended: under way */
    uint32_t moves_ended;
} g_threads;

bool hg_threads_start(void) {
    __builtin_memset(&g_threads, 0, sizeof g_threads);
    g_threads.limit = HG_MAX_SHARDS;
    uint64_t most = hg_recording_most(HG_STEP); /* each has a step at least */
    if (most < g_threads.limit) g_threads.limit = (uint32_t)most;
    g_threads.slots = hg_sys_map_private(g_threads.limit * sizeof *g_threads.slots);
    return g_threads.slots && hg_table_start(&g_threads.records, HG_KIND_THREADS, 0,
                                             sizeof(struct hg_thread_record), MAX_THREADS);
}

uint32_t hg_threads_count(void) { return hg_load(&g_threads.count); }

const struct hg_thread_record *hg_threads_record(uint32_t index) {
    return hg_table_find(&g_threads.records, index);
}

uint32_t hg_threads_shards(void) { return hg_load(&g_threads.shards); }

struct hg_table *hg_threads_shard(uint32_t number) {
    struct hg_thread *slot = hg_load_acquire(&g_threads.slots[number]);
    return slot ? &slot->counters : NULL;
}

const struct hg_samples *hg_threads_samples(uint32_t number, uint32_t site) {
    struct hg_thread *slot = hg_load_acquire(&g_threads.slots[number]);
    return slot ? hg_table_find(&slot->samples, site) : NULL;
}

static struct hg_totals totals_of(const struct hg_thread_record *r) {
    return (struct hg_totals){
        hg_load(&r->allocations),      hg_load(&r->frees),
        hg_load(&r->bytes_allocated),  hg_load(&r->bytes_freed),
        hg_load(&r->usable_allocated), hg_load(&r->usable_freed),
    };
}

/* Both may be written meanwhile: a thread that starts retires another one. */
static void add_totals(struct hg_totals *sum, const struct hg_totals *more) {
    hg_add_shared(&sum->allocations, hg_load(&more->allocations));
    hg_add_shared(&sum->frees, hg_load(&more->frees));
    hg_add_shared(&sum->bytes_allocated, hg_load(&more->bytes_allocated));
    hg_add_shared(&sum->bytes_freed, hg_load(&more->bytes_freed));
    hg_add_shared(&sum->usable_allocated, hg_load(&more->usable_allocated));
    hg_add_shared(&sum->usable_freed, hg_load(&more->usable_freed));
}

static struct hg_totals sum_totals(void) {
    struct hg_totals sum = {0};
    add_totals(&sum, &g_threads.retired);
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct hg_thread *slot = hg_load_acquire(&g_threads.slots[i]);
        if (!slot) continue;
        struct hg_totals of_slot = totals_of(hg_load_acquire(&slot->record));
        add_totals(&sum, &of_slot);
    }
    return sum;
}

struct hg_totals hg_threads_totals(void) {
    struct hg_totals sum;
    /* A slot that moved meanwhile may have been counted twice; threads do not start that often. */
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t ended = hg_load_acquire(&g_threads.moves_ended);
        sum = sum_totals();
        if (hg_load_acquire(&g_threads.moves_begun) == ended) break;
    }
    return sum;
}

int64_t hg_threads_unflushed(void) {
    int64_t sum = 0;
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct hg_thread *slot = hg_load_acquire(&g_threads.slots[i]);
        if (slot) sum += hg_peak_held(hg_load_acquire(&slot->record));
    }
    return sum;
}

static bool same_name(const char *a, const char *b) {
    for (uint32_t i = 0; i < 16; i++) {
        if (a[i] != b[i]) return false;
        if (!a[i]) return true;
    }
    return true;
}

/* Claim the slot of a dead thread; NULL when the few asked are all alive, or named otherwise. */
static struct hg_thread *claim_dead(uint32_t pid, uint32_t tid, const char *name) {
    uint32_t count = hg_threads_shards();
    for (uint32_t i = 0; i < SLOTS_TO_ASK && i < count; i++) {
        uint32_t number = hg_add_shared(&g_threads.ask_next, 1) % count;
        struct hg_thread *slot = hg_load_acquire(&g_threads.slots[number]);
        /* Acquire: what a dead thread wrote is there to be read. A live one is mostly READY too. */
        if (!slot || hg_load_acquire(&slot->state) != HG_THREAD_READY) continue;
        const struct hg_thread_record *record = hg_load_acquire(&slot->record);
        uint32_t owner = hg_load(&slot->tid);
        uint64_t state = HG_THREAD_READY;
        /* A slot with the asking thread's own id can only be that of a dead namesake. */
        if (owner != tid && hg_sys_thread_alive(pid, owner)) continue;
        if (count < SLOTS_KEPT_BY_NAME && !same_name(record->name, name)) continue;
        if (hg_swap(&slot->state, &state, HG_THREAD_UNKNOWN)) return slot;
    }
    return NULL;
}

static uint32_t hand_out_shard(void) {
    uint32_t number = hg_load(&g_threads.shards);
    do {
        if (number >= g_threads.limit) return UINT32_MAX;
    } while (!hg_swap(&g_threads.shards, &number, number + 1));
    hg_raise(&g_header->shards, number + 1);
    return number;
}

/* As many as there are, unless the program's addresses are limited: a thread without a memory for a stack walks it. */
static uint32_t memories_of_thread(void) {
    uint64_t fit = hg_sys_left() / SHARE_OF_WHAT_IS_LEFT / sizeof(struct hg_quad[HG_MEMORY_QUADS]);
    if (fit >= HG_MEMORIES) return HG_MEMORIES;
    return fit < FEWEST_MEMORIES ? FEWEST_MEMORIES : (uint32_t)fit;
}

static struct hg_thread *new_slot(void) {
    /* Many may come at once, and none has touched its block then: all of them count. */
    uint32_t others = hg_threads_shards();
    bool is_let = !others || hg_recording_lets(others * USUALLY_TOUCHED);
    uint32_t memories = memories_of_thread();
    size_t size = sizeof(struct hg_thread) + memories * sizeof(struct hg_quad[HG_MEMORY_QUADS]);
    struct hg_thread *slot = is_let ? hg_sys_map_wiped(size) : NULL;
    if (!slot) return NULL;
    slot->recall.quads = slot->quads;
    slot->recall.room = memories;
    /* It remembers nothing that is older. */
    slot->recall.generation = hg_load(&g_modules_generation);
    hg_ledger_look_away(&slot->views);
    slot->shard_number = hand_out_shard();
    if (slot->shard_number != UINT32_MAX &&
        hg_sites_start_shard(&slot->counters, slot->shard_number) &&
        (!hg_mode_is_light() || hg_share_start_shard(slot))) {
        return slot;
    }
    hg_sys_unmap(slot, size);
    return NULL;
}

/* A record for the calling thread, not visible yet; NULL when there is no room. */
static struct hg_thread_record *new_record(const char *name) {
    uint32_t index = hg_load(&g_threads.count);
    do {
        if (index >= MAX_THREADS || !hg_table_slot(&g_threads.records, index)) return NULL;
    } while (!hg_swap(&g_threads.count, &index, index + 1));
    hg_raise(&g_header->threads, index + 1);
    struct hg_thread_record *record = hg_table_at(&g_threads.records, index);
    record->first_seen = record->last_seen = hg_clock_now();
    for (uint32_t i = 0; i < 15; i++) record->name[i] = name[i];
    return record;
}

/* Take over what the thread's walker counted. */
static void publish_stats(struct hg_thread *thread) {
    static const uint8_t walked[] = {HG_STAT_FRAMES, HG_STAT_FOREIGN_WALKS, HG_STAT_SLOW_WALKS};
    struct hg_thread_record *record = hg_load_acquire(&thread->record);
    for (uint32_t i = 0; i < sizeof walked; i++) {
        hg_store(&record->stats[walked[i]], hg_load(&thread->walker.stats[walked[i]]));
    }
    hg_store(&record->stats[HG_STAT_RULE_MISSES], hg_load(&thread->walker.parser.parsed));
}

/* What the slot's last thread counted goes to the sums that outlive it; what it remembered of its
 * stack is of no use to another. */
static void retire_thread(struct hg_thread *slot) {
    publish_stats(slot);
    if (hg_mode_is_light()) hg_tally_detach(slot);
    else hg_peak_flush(slot->record);
    hg_usable_share(slot);
    struct hg_totals last = totals_of(slot->record);
    add_totals(&g_threads.retired, &last);
    slot->transcript.depth = 0;
    hg_recall_leave_stack(&slot->recall);
}

/* Give the slot to a new thread. A fresh one is zeroed, and must stay untouched where it can: each
 * page costs as much as an event or ten. */
static void move_slot(struct hg_thread *slot, struct hg_thread_record *record) {
    __atomic_fetch_add(&g_threads.moves_begun, 1, __ATOMIC_ACQ_REL);
    if (slot->record) retire_thread(slot);
    hg_clock_attach(&slot->clock);
    hg_store_release(&slot->record, record);
    slot->tallied = record;
    hg_store_release(&g_threads.slots[slot->shard_number], slot);
    __atomic_fetch_add(&g_threads.moves_ended, 1, __ATOMIC_ACQ_REL);
    hg_sampler_attach(&slot->sampler);
    hg_tally_attach(slot);
    slot->last.block = 0;
    slot->next_tick = 0;
    hg_store(&slot->usable_shared, 0);
    slot->walker.stack_lo = slot->walker.stack_hi = slot->walker.stack_hole = 0;
    __builtin_memset(slot->walker.stats, 0, sizeof slot->walker.stats);
    slot->walker.parser.parsed = 0;
}

/* The first thread, to which a second one comes; it may still be on its way to its slot. NULL: it does
 * not come, and has nothing. */
static struct hg_thread *wait_for_first(void) {
    struct hg_thread *first;
    for (uint32_t i = 0; !(first = hg_load_acquire(&g_threads.slots[0])) && i < WAIT_FOR_FIRST; i++)
        hg_sys_yield();
    return first;
}

static void go_threaded(struct hg_thread *first) {
    if (hg_mode_is_light()) {
        hg_tally_go_threaded(first);
        return;
    }
    hg_usable_go_threaded(first);
    hg_peak_go_threaded(first);
    hg_mode_share();
}

/* A slot for the calling thread; NULL when there is no room. */
static struct hg_thread *find_slot(uint32_t pid, uint32_t tid, const char *name) {
    struct hg_thread *first = hg_load_acquire(&g_threads.slots[0]);
    if (first) go_threaded(first);
    struct hg_thread *slot = claim_dead(pid, tid, name);
    if (!slot) slot = new_slot();
    if (slot && !first && slot->shard_number) go_threaded(wait_for_first());
    return slot;
}

/* The first thread while sampling; any other than the main one minds others from the start. */
static void come_to_front(struct hg_thread_record *record, bool is_main) {
    if (!is_main) {
        hg_mode_crowd();
        return;
    }
    hg_sampler_attach(&g_front.sampler);
    hg_store(&g_front.record, record);
    hg_store(&g_front.pointer, hg_thread_pointer());
}

struct hg_thread *hg_threads_attach(void) {
    uint32_t pid = hg_sys_pid(), tid = hg_sys_tid();
    char name[16] = "";
    hg_sys_thread_name(name);
    struct hg_thread_record *record = new_record(name);
    struct hg_thread *slot = record ? find_slot(pid, tid, name) : NULL;
    if (!slot) {
        tls_thread = (struct hg_thread *)&g_refused_thread;
        return NULL;
    }
    bool is_first = !slot->shard_number && !slot->record;
    if (is_first && !hg_mode_is_light()) hg_peak_begin(record);
    record->shard = slot->shard_number;
    hg_store(&slot->tid, tid);
    hg_store_release(&record->tid, tid);
    move_slot(slot, record);
    if (is_first && hg_mode_is_light()) come_to_front(record, tid == pid);
    hg_thread_be(slot, HG_THREAD_READY, 0);
    tls_thread = slot;
    return slot;
}

void hg_threads_hide(void) { tls_thread = (struct hg_thread *)&g_unknown_thread; }

void hg_threads_refresh(struct hg_thread *thread, uint64_t now_ns) {
    struct hg_thread_record *record = thread->record;
    char name[16] = "";
    hg_sys_thread_name(name);
    for (uint32_t i = 0; i < 15; i++) record->name[i] = name[i];
    hg_store(&record->last_seen, now_ns);
    publish_stats(thread);
}

void hg_threads_publish_all(void) {
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        struct hg_thread *slot = hg_load_acquire(&g_threads.slots[i]);
        if (slot) publish_stats(slot);
    }
}
