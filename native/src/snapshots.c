#include "snapshots.h"

#include "clock.h"
#include "mode.h"
#include "options.h"
#include "peak.h"
#include "pmem.h"
#include "recording.h"
#include "site_sums.h"
#include "sys.h"
#include "table.h"
#include "tally.h"
#include "timeline.h"

#define ARENA_BYTES (UINT64_C(8) << 20)
#define FINENESS 256u /* of thinning, at first */
#define MAX_PASSES 16u
#define SITES_PER_CHUNK 4096u
#define MAX_CHUNKS (HG_MAX_SITES / SITES_PER_CHUNK)
#define DELTA_MAX (5 * HG_VARINT_MAX)
#define DUTY 50u /* a snapshot may take 1/50 of the time to the next one */

/* What a snapshot says of one site. */
struct values {
    int64_t blocks, bytes, allocations, bytes_allocated;
};

static struct {
    struct hg_arena_pair arenas;
    struct values **previous; /* by site, in chunks: values in the last snapshot */
    uint64_t next_snapshot;
    uint64_t next_point;
    uint64_t interval;
    int64_t churn; /* bytes allocated plus freed that no snapshot by churn has seen */
    uint64_t last; /* the time of the last point */
    uint32_t busy;
} g_snapshots;

bool hg_snapshots_start(void) {
    __builtin_memset(&g_snapshots, 0, sizeof g_snapshots);
    g_snapshots.interval = g_options.snapshot_ns;
    g_snapshots.next_snapshot = g_options.snapshot_ns ? g_options.snapshot_ns : UINT64_MAX;
    g_header->snapshot_interval_ns = g_options.snapshot_ns;
    g_header->snapshot_churn_bytes = g_options.churn_bytes;
    g_snapshots.previous = hg_sys_map_private(MAX_CHUNKS * sizeof *g_snapshots.previous);
    return g_snapshots.previous && hg_timeline_start() &&
           hg_arena_start(&g_snapshots.arenas, HG_KIND_SNAPSHOTS, ARENA_BYTES,
                          &g_header->snapshots_arena);
}

static struct values *previous_of(uint32_t site) {
    struct values **chunk = &g_snapshots.previous[site / SITES_PER_CHUNK];
    if (!*chunk) *chunk = hg_sys_map_private(SITES_PER_CHUNK * sizeof **chunk);
    return *chunk ? &(*chunk)[site % SITES_PER_CHUNK] : NULL;
}

static struct values values_of(uint32_t site) {
    struct hg_site_sums sums = hg_site_sums_unscaled(site);
    return (struct values){
        .blocks = (int64_t)(sums.allocations - sums.frees),
        .bytes = (int64_t)(sums.bytes_allocated - sums.bytes_freed),
        .allocations = (int64_t)sums.allocations,
        .bytes_allocated = (int64_t)sums.bytes_allocated,
    };
}

static bool is_zero(const struct values *v) {
    return !(v->blocks | v->bytes | v->allocations | v->bytes_allocated);
}

static struct values minus(struct values a, struct values b) {
    return (struct values){a.blocks - b.blocks, a.bytes - b.bytes, a.allocations - b.allocations,
                           a.bytes_allocated - b.bytes_allocated};
}

/* Where deltas are being written: behind an hg_snapshot at the end of an arena. */
struct writer {
    uint32_t which;
    struct hg_snapshot *snapshot;
    uint8_t *at;
    uint32_t last_site;
};

static bool begin(struct writer *w, uint32_t which, uint64_t time, const struct hg_point *totals) {
    struct hg_arena_pair *arenas = &g_snapshots.arenas;
    uint64_t used = arenas->used[which];
    if (!hg_arena_reach(arenas, which, used + sizeof *w->snapshot)) return false;
    w->which = which;
    w->snapshot = (struct hg_snapshot *)(hg_arena_bytes(arenas, which) + used);
    *w->snapshot = (struct hg_snapshot){.time = time, .totals = *totals};
    w->at = (uint8_t *)(w->snapshot + 1);
    w->last_site = 0;
    return true;
}

static bool put(struct writer *w, uint32_t site, struct values delta) {
    uint64_t end = (uint64_t)(w->at - hg_arena_bytes(&g_snapshots.arenas, w->which)) + DELTA_MAX;
    if (!hg_arena_reach(&g_snapshots.arenas, w->which, end)) return false;
    w->at = hg_varint_put(w->at, site - w->last_site);
    w->at = hg_varint_put_signed(w->at, delta.blocks);
    w->at = hg_varint_put_signed(w->at, delta.bytes);
    w->at = hg_varint_put_signed(w->at, delta.allocations);
    w->at = hg_varint_put_signed(w->at, delta.bytes_allocated);
    w->last_site = site;
    w->snapshot->sites++;
    return true;
}

static uint64_t whole_words(uint64_t length) { return (length + 7) & ~UINT64_C(7); }

static void end(struct writer *w) {
    uint32_t length = (uint32_t)(w->at - (uint8_t *)(w->snapshot + 1));
    w->snapshot->length = length;
    hg_arena_publish(&g_snapshots.arenas, w->which, 1, sizeof *w->snapshot + whole_words(length));
}

/* Reads one snapshot's deltas. Someone may have written over them: then they say anything, but nothing is read beyond
 * `end`, and no site is one that cannot be. */
struct cursor {
    const uint8_t *end;
    const uint8_t *at;
    uint32_t left;
    uint32_t site;
    struct values delta;
};

static bool step(struct cursor *c) {
    if (!c->left || c->at >= c->end) {
        c->site = UINT32_MAX;
        return false;
    }
    uint64_t gap;
    c->left--;
    c->at = hg_varint_get(c->at, &gap);
    c->at = hg_varint_get_signed(c->at, &c->delta.blocks);
    c->at = hg_varint_get_signed(c->at, &c->delta.bytes);
    c->at = hg_varint_get_signed(c->at, &c->delta.allocations);
    c->at = hg_varint_get_signed(c->at, &c->delta.bytes_allocated);
    bool is_site = gap < HG_MAX_SITES && c->site + gap < HG_MAX_SITES;
    c->site = is_site ? c->site + (uint32_t)gap : UINT32_MAX;
    return is_site;
}

/* Where arena `which` is filled to. */
static const uint8_t *filled(uint32_t which) {
    return hg_arena_bytes(&g_snapshots.arenas, which) + g_snapshots.arenas.used[which];
}

static struct cursor open_cursor(const struct hg_snapshot *snapshot, uint32_t which) {
    struct cursor c = {filled(which), (const uint8_t *)(snapshot + 1), snapshot->sites, 0, {0}};
    step(&c);
    return c;
}

/* The next one in the active arena, or its end; never beyond. */
static const struct hg_snapshot *after(const struct hg_snapshot *s) {
    const uint8_t *end = filled(g_snapshots.arenas.active);
    uint64_t length = whole_words(hg_load(&s->length));
    uint64_t rest = (uint64_t)(end - (const uint8_t *)(s + 1));
    bool is_whole = length + sizeof *s <= rest;
    return (const struct hg_snapshot *)(is_whole ? (const uint8_t *)(s + 1) + length : end);
}

/* Write one snapshot that stands for two that followed each other. */
static bool merge(const struct hg_snapshot *first, const struct hg_snapshot *second) {
    struct writer w;
    uint32_t from = g_snapshots.arenas.active;
    if (!begin(&w, 1 - from, second->time, &second->totals)) return false;
    struct cursor a = open_cursor(first, from), b = open_cursor(second, from);
    while (a.site != UINT32_MAX || b.site != UINT32_MAX) {
        uint32_t site = a.site < b.site ? a.site : b.site;
        struct values sum = {0};
        if (a.site == site) {
            sum = a.delta;
            step(&a);
        }
        if (b.site == site) {
            struct values negated = minus((struct values){0}, b.delta);
            sum = minus(sum, negated);
            step(&b);
        }
        if (!is_zero(&sum) && !put(&w, site, sum)) return false;
    }
    end(&w);
    return true;
}

static bool copy(const struct hg_snapshot *snapshot) {
    struct hg_arena_pair *arenas = &g_snapshots.arenas;
    uint32_t to = 1 - arenas->active;
    uint64_t size = (uint64_t)((const uint8_t *)after(snapshot) - (const uint8_t *)snapshot);
    if (!hg_arena_reach(arenas, to, arenas->used[to] + size)) return false;
    __builtin_memcpy(hg_arena_bytes(arenas, to) + arenas->used[to], snapshot, size);
    hg_arena_publish(arenas, to, 1, size);
    return true;
}

/* Copy all snapshots to the spare arena, merging two where the gap that leaves is at most
 * 1/fineness of its age (0: wherever there are two). False: it does not fit. */
static bool copy_thinned(uint64_t fineness) {
    struct hg_arena_pair *arenas = &g_snapshots.arenas;
    uint64_t last = 0, now = g_snapshots.last, count = arenas->count[arenas->active];
    const uint8_t *end = filled(arenas->active);
    const struct hg_snapshot *s = (const void *)hg_arena_bytes(arenas, arenas->active);
    if (!hg_arena_spare(arenas)) return false;
    for (uint64_t i = 0; i < count && (const uint8_t *)s < end; i++) {
        const struct hg_snapshot *next = i + 1 < count ? after(s) : NULL;
        if ((const uint8_t *)next == end) next = NULL;
        bool pair = next && (!fineness || next->time - last <= (now - next->time) / fineness);
        if (pair ? !merge(s, next) : !copy(s)) return false;
        last = pair ? next->time : s->time;
        s = pair ? after(next) : after(s);
        i += pair;
    }
    return true;
}

/* Thin until a quarter is free. One pass merges at most two by two, and snapshots of different
 * sites hardly shrink: so pass after pass, each from a whole arena to another, ever coarser. */
static bool thin(void) {
    struct hg_arena_pair *arenas = &g_snapshots.arenas;
    if (arenas->count[arenas->active] < 2) return false;
    bool is_smaller = false;
    for (uint64_t fineness = FINENESS, pass = 0; pass < MAX_PASSES; fineness /= 2, pass++) {
        uint64_t before = arenas->used[arenas->active];
        if (!copy_thinned(fineness)) break;
        if (arenas->used[1 - arenas->active] == before) continue;
        hg_arena_flip(arenas);
        is_smaller = true;
        if (arenas->used[arenas->active] <= arenas->capacity / 4 * 3) break;
    }
    return is_smaller;
}

/* Write the snapshot; `previous` moves on only when all of it is written. */
static bool write_sites(const struct hg_point *totals) {
    struct writer w;
    uint32_t sites = hg_site_sums_end();
    if (!begin(&w, g_snapshots.arenas.active, totals->time, totals)) return false;
    for (uint32_t site = 1; site < sites; site++) {
        struct values *previous = previous_of(site);
        if (!previous) return false;
        struct values delta = minus(values_of(site), *previous);
        if (!is_zero(&delta) && !put(&w, site, delta)) return false;
    }
    end(&w);
    for (struct cursor c = open_cursor(w.snapshot, w.which); c.site != UINT32_MAX; step(&c)) {
        struct values *previous = previous_of(c.site);
        if (previous) *previous = minus(*previous, minus((struct values){0}, c.delta));
    }
    return true;
}

static void lose_snapshot(struct hg_thread *thread) {
    if (thread) hg_threads_lose(thread, HG_LOSS_SNAPSHOT);
    else hg_add_shared(&g_header->losses[HG_LOSS_SNAPSHOT], 1);
}

static bool snapshot_locked(struct hg_thread *thread, const struct hg_point *totals) {
    uint64_t began = hg_clock_precise();
    bool is_written = write_sites(totals) || (thin() && write_sites(totals));
    if (!is_written) lose_snapshot(thread);
    /* A huge table must not eat the program's time: take it less often. */
    uint64_t took = hg_clock_since(began);
    while (g_snapshots.interval && took * DUTY > g_snapshots.interval) g_snapshots.interval *= 2;
    hg_store(&g_header->snapshot_interval_ns, g_snapshots.interval);
    hg_store(&g_header->private_bytes, hg_sys_private_bytes());
    hg_residency_measured();
    return is_written;
}

/* With signals held back: a handler that jumps out would leave the lock taken for ever. */
static bool try_lock(uint64_t *signals) {
    if (hg_load(&g_snapshots.busy)) return false;
    *signals = hg_sys_block_signals();
    if (!hg_exchange(&g_snapshots.busy, 1)) return true;
    hg_sys_restore_signals(*signals);
    return false;
}

static void unlock(uint64_t signals) {
    hg_store_release(&g_snapshots.busy, 0);
    hg_sys_restore_signals(signals);
}

/* By a thread of the program only: it may be the one that counts there at each event. */
static void renew_visible(void) {
    struct hg_totals totals = hg_threads_totals();
    hg_visible_renew(&totals);
}

/* A point of the timeline, never earlier than the one before: the clock was read before the lock
 * was had. */
static struct hg_point add_point_locked(const struct hg_thread *thread, uint64_t now_ns) {
    if (thread) renew_visible();
    if (thread && thread->record && !hg_mode_is_light()) hg_peak_settle(thread);
    if (now_ns > g_snapshots.last) g_snapshots.last = now_ns;
    struct hg_point totals = hg_timeline_totals(g_snapshots.last);
    hg_timeline_add(&totals);
    hg_residency_note();
    hg_title_note();
    return totals;
}

void hg_snapshots_add_point(uint64_t now_ns) {
    uint64_t signals;
    if (!try_lock(&signals)) return;
    add_point_locked(tls_thread, now_ns);
    unlock(signals);
}

/* The churn that the snapshot log has got hold of. */
static uint64_t take_locked(struct hg_thread *thread, uint64_t now_ns, bool *is_taken) {
    struct hg_point totals = add_point_locked(thread, now_ns);
    *is_taken = snapshot_locked(thread, &totals);
    return hg_pmem_append();
}

bool hg_snapshots_take(struct hg_thread *thread, uint64_t now_ns) {
    uint64_t signals;
    bool is_taken;
    if (!try_lock(&signals)) return false;
    hg_add_shared(&g_snapshots.churn, -(int64_t)take_locked(thread, now_ns, &is_taken));
    unlock(signals);
    return is_taken;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static void take_due_locked(struct hg_thread *thread, uint64_t now_ns) {
    bool snapshot_due = now_ns >= g_snapshots.next_snapshot;
    if (!snapshot_due && now_ns < g_snapshots.next_point) return; /* another thread was quicker */
    struct hg_point totals = add_point_locked(thread, now_ns);
    hg_store(&g_snapshots.next_point, now_ns + HG_TIMELINE_INTERVAL_NS);
    if (!snapshot_due) return;
    snapshot_locked(thread, &totals);
    hg_store(&g_snapshots.next_snapshot, now_ns + g_snapshots.interval);
    hg_threads_refresh(thread, now_ns);
}

static uint64_t next_due(void) {
    return earlier(hg_load(&g_snapshots.next_point), hg_load(&g_snapshots.next_snapshot));
}

static int64_t churn_wanted(void) {
    return g_options.churn_bytes < INT64_MAX ? (int64_t)g_options.churn_bytes : INT64_MAX;
}

/* Other threads' bytes may be in the log's snapshot and not yet in the count: then that is below zero for
 * the moment, and no snapshot has less churn than it should. */
static void take_by_churn_locked(struct hg_thread *thread, uint64_t now_ns) {
    int64_t every = churn_wanted(), churn = hg_load(&g_snapshots.churn);
    if (churn < every) return; /* another thread was quicker */
    bool is_taken;
    uint64_t logged = take_locked(thread, now_ns, &is_taken);
    hg_add_shared(&g_snapshots.churn, logged ? -(int64_t)logged : -(churn - churn % every));
}

static void tick_churn(struct hg_thread *thread, uint64_t bytes, uint64_t now_ns) {
    uint64_t signals;
    int64_t churn = hg_add_shared(&g_snapshots.churn, (int64_t)bytes) + (int64_t)bytes;
    if (churn < churn_wanted() || !try_lock(&signals)) return;
    take_by_churn_locked(thread, now_ns);
    unlock(signals);
}

void hg_snapshots_tick(struct hg_thread *thread, uint64_t churn, uint64_t now_ns) {
    uint64_t signals;
    if (now_ns >= next_due() && try_lock(&signals)) {
        take_due_locked(thread, now_ns);
        unlock(signals);
        hg_store(&thread->record->last_seen, now_ns);
    }
    if (g_options.churn_bytes) tick_churn(thread, churn, now_ns);
    thread->next_tick = g_options.churn_bytes ? 0 : next_due();
    if (g_options.churn_bytes) hg_clock_expire(&thread->clock);
}
