/* What the parts call of the library, and the only place that does: when the library's headers
 * change, this is what has to follow. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "clock.h"
#include "ledger.h"
#include "peak.h"
#include "real.h"
#include "recorder.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"
#include "walk.h"

/* The hook's frame, as release.h has it. */
#define FRAME() ((const struct hg_frame *)__builtin_frame_address(0))

/* The calling thread, NULL when it cannot be recorded. */
__attribute__((noinline, noclone)) static struct hg_thread *enter_and_leave(void) {
    struct hg_thread *thread = hg_recorder_enter(FRAME(), true);
    if (thread) hg_recorder_leave(thread);
    return thread;
}

static inline uint64_t date_event(struct hg_thread *thread) {
    static uint64_t late;
    return hg_clock_event(&thread->clock, &late);
}

static inline uint64_t read_clock(struct hg_thread *thread) {
    static uint64_t late;
    return hg_clock_renew(&thread->clock, &late);
}

/* frames[0] is the innermost. */
static inline uint32_t site_of(const uintptr_t *frames, uint32_t depth) {
    return hg_stacks_site(frames, depth, 0, 1);
}

/* A site whose stack is one frame, another one for each number. */
static inline uint32_t site_numbered(uint32_t number) {
    return site_of(&(uintptr_t){4096 + number}, 1);
}

static inline struct hg_counters *line_of(struct hg_thread *thread, uint32_t site) {
    return hg_sites_line(&thread->counters, site);
}

static inline void count_arrival(struct hg_thread *thread, struct hg_counters *line, size_t size) {
    hg_sites_add(thread, line, size);
}

static inline void count_departure(struct hg_thread *thread, struct hg_counters *line,
                                   size_t size) {
    hg_sites_end_life(thread, line, 0);
    hg_sites_remove(line, size);
}

/* The live total, and the peak of it, as a block in `line` moves them. */
static inline void move_total(struct hg_thread *thread, struct hg_counters *line, int64_t delta) {
    hg_peak_before(thread, delta);
    hg_peak_save(line);
    hg_add_at_once(delta > 0 ? &thread->record->bytes_allocated : &thread->record->bytes_freed,
                   (uint64_t)(delta > 0 ? delta : -delta));
    hg_peak_after(thread, delta, 1);
}

static inline void enter_block(void *block, uint32_t size) {
    struct hg_block replaced;
    hg_ledger_put((uintptr_t)block, (struct hg_block){size, 2, 1}, &replaced);
}

static inline uint64_t take_block(void *block) { return hg_ledger_take((uintptr_t)block).size; }

static inline void walk_from(struct hg_thread *thread, const struct hg_frame *frame,
                             uint32_t limit) {
    struct hg_caller caller = hg_frame_caller(frame);
    hg_walk(&thread->walker, &caller, limit);
}

static inline void take_snapshot(struct hg_thread *thread) {
    hg_snapshots_take(thread, hg_clock_now());
}

/* While blocks are lent, malloc gives one of 256 bytes over and over and free does nothing: what is
 * left of the two are the hooks. */
static struct hg_real g_own_allocator;
static void *g_lent;

static void *lend(size_t size) {
    (void)size;
    return g_lent;
}

static void take_back(void *block) { (void)block; }

static inline void lend_blocks(void) {
    g_own_allocator = g_real;
    g_lent = g_real.malloc(256);
    g_real.malloc = lend;
    g_real.free = take_back;
}

static inline void end_lending(void) {
    g_real = g_own_allocator;
    g_real.free(g_lent);
}

/* Past the hooks. */
static inline void *malloc_unseen(size_t size) { return g_real.malloc(size); }

#endif
