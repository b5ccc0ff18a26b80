#include "light.h"

#include "budget.h"
#include "filter.h"
#include "light_way.h"
#include "mode.h"
#include "modules.h"
#include "real.h"
#include "release.h"
#include "sampled.h"
#include "watched.h"

/* ---- the slow door: the block is taken, or may be known, or the thread is new ------------------- */

static bool is_passed_on(uint32_t mode) { return mode == HG_MODE_PAUSED || mode == HG_MODE_OFF; }

/* The event came from a signal handler inside a hook: it cannot be recorded, but counted. (Where an
 * allocator may call itself through us, nobody can tell.) */
static struct hg_thread *countable(void) {
    struct hg_thread *thread = tls_thread;
    uint32_t mode = hg_mode_beneath();
    bool is_counted = mode == HG_MODE_SAMPLED || mode == HG_MODE_CROWDED;
    return is_counted && thread->record ? thread : NULL;
}

static void count_nested(void *block, size_t size) {
    struct hg_thread *thread = countable();
    if (thread) hg_tally_add(&thread->tally, thread->record, size, hg_real_usable(block));
}

static void count_nested_free(void *block) {
    struct hg_thread *thread = countable();
    if (thread) hg_tally_remove(&thread->tally, thread->record, 0, hg_real_usable(block));
}

void hg_light_report(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                     size_t size) {
    uint32_t mode = hg_mode_beneath();
    if (!thread) {
        if (block) count_nested(block, size);
        return;
    }
    if (!block) hg_sampler_forget(&thread->sampler, size);
    else if (hg_mode_is_exact(mode)) hg_recorder_allocated(thread, frame, block, size);
    else if (!is_passed_on(mode)) hg_sampled_allocated(thread, frame, block, size);
    hg_recorder_leave(thread);
}

struct hg_taken hg_light_take(struct hg_thread *thread, void *block) {
    return hg_mode_is_light() ? hg_sampled_take(thread, block) : hg_recorder_take(thread, block);
}

void hg_light_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                    const struct hg_taken *taken) {
    /* Paused, in a recording that is exact otherwise: what is known still is freed. */
    bool is_counted = taken->block.site || hg_mode_is_exact(hg_mode_beneath());
    if (hg_mode_is_light()) {
        if (HG_UNLIKELY(hg_modules_is_loader(frame->pc))) hg_modules_check_unloaded();
        hg_sampled_freed(thread, block, taken);
    } else if (is_counted) {
        hg_recorder_freed(thread, frame, block, taken);
    }
}

void hg_light_release(void *block, const struct hg_frame *frame) {
    if (!block || hg_real_is_arena(block)) return;
    if (hg_mode_is_exact(hg_mode_beneath())) {
        hg_release(block, frame);
        return;
    }
    struct hg_thread *thread = hg_recorder_enter(frame, false);
    if (!thread) {
        count_nested_free(block);
        g_real.free(block);
        return;
    }
    uint64_t begun = hg_budget_begin(thread);
    struct hg_taken taken = hg_light_take(thread, block);
    hg_light_freed(thread, frame, block, &taken);
    hg_budget_end(begun);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    g_real.free(block);
    hg_recorder_leave(thread);
}

void hg_slow_free(void *block) {
    const struct hg_frame *frame = FRAME();
    hg_light_release(block, frame);
    KEEP_FRAME();
}

/* ---- realloc -------------------------------------------------------------------------------------- */

/* In a recording that is exact but for pauses. */
static void report_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                           const struct hg_taken *taken, void *to, size_t size) {
    bool is_exact = hg_mode_is_exact(hg_mode_beneath());
    if (is_exact && taken->block.site && to) {
        hg_recorder_resized(thread, frame, from, taken, to, size);
        return;
    }
    if (to || !size) hg_light_freed(thread, frame, from, taken);
    else if (taken->block.site) hg_recorder_kept(thread, from, taken);
    if (to && is_exact) hg_recorder_allocated(thread, frame, to, size);
}

static void report_resized_light(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                                 const struct hg_taken *taken, void *to, size_t size) {
    if (to) {
        hg_sampled_resized(thread, frame, from, taken, to, size);
        return;
    }
    hg_sampler_forget(&thread->sampler, size);
    if (size) hg_sampled_kept(thread, from, taken);
    else hg_sampled_freed(thread, from, taken);
}

void hg_light_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                      const struct hg_taken *taken, void *to, size_t size) {
    if (hg_mode_is_light()) report_resized_light(thread, frame, from, taken, to, size);
    else report_resized(thread, frame, from, taken, to, size);
}

static void *resize(void *from, size_t size, const struct hg_frame *frame) {
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    if (!thread) {
        count_nested_free(from);
        void *to = g_real.realloc(from, size);
        if (to) count_nested(to, size);
        return to;
    }
    struct hg_taken taken = hg_light_take(thread, from);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    void *to = g_real.realloc(from, size);
    hg_light_resized(thread, frame, from, &taken, to, size);
    hg_recorder_leave(thread);
    return to;
}

static HG_NOINLINE void *hg_slow_realloc(void *from, size_t size) {
    const struct hg_frame *frame = FRAME();
    if (from && hg_real_is_arena(from)) return hg_real_leave_arena(from, size);
    if (from) {
        void *to = resize(from, size, frame);
        KEEP_FRAME();
        return to;
    }
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    void *block = g_real.realloc(NULL, size);
    hg_light_report(thread, frame, block, size);
    return block;
}

/* ---- hooks ---------------------------------------------------------------------------------------- */

static HG_NOINLINE void *settle(struct hg_thread *thread, void *block) {
    hg_tally_settle(thread);
    return block;
}

/* After hg_light_ask(). Gives the block back, so that a hook can end in it. */
HG_INLINE void *count(struct hg_thread *thread, void *block) {
    struct hg_thread_record *record = thread->tallied;
    hg_tally_get(record, hg_real_usable_by_word(block));
    return HG_UNLIKELY(hg_tally_rose(&thread->tally, record)) ? settle(thread, block) : block;
}

/* An event of a block that is not taken, above an allocator that may call itself through us, and that
 * has to be asked for a block's usable size. NULL: it must go through the slow door. */
HG_INLINE struct hg_thread *start_carefully(const struct hg_frame *frame, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (!hg_recorder_is_ready(thread) || hg_light_is_due(thread, size)) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    hg_light_ask(thread, size);
    return thread;
}

static HG_NOINLINE void *settle_carefully(struct hg_thread *thread, void *block) {
    hg_tally_settle(thread);
    hg_recorder_leave(thread);
    return block;
}

static HG_NOINLINE void *end_without(struct hg_thread *thread) {
    hg_recorder_leave(thread);
    return hg_light_get_nothing();
}

HG_INLINE void *end_carefully(struct hg_thread *thread, void *block, size_t usable) {
    struct hg_thread_record *record = thread->tallied;
    if (HG_UNLIKELY(!block)) return end_without(thread);
    hg_tally_get(record, usable);
    if (HG_UNLIKELY(hg_tally_rose(&thread->tally, record))) return settle_carefully(thread, block);
    hg_recorder_leave(thread);
    return block;
}

/* The call that starts the recording may turn out to be watched. */
static bool may_be_watched(uint32_t mode) {
    return mode == HG_MODE_WATCHED || mode == HG_MODE_UNSTARTED;
}

/* What an allocating hook jumps to, in functions of their own: as one it would save the registers of all.
 * The crowd's form minds everything: see light_way.h. */
#define ALLOCATE(name, parameters, arguments, bytes)                                     \
    void *hg_slow_##name parameters {                                                    \
        const struct hg_frame *frame = FRAME();                                          \
        struct hg_thread *thread = hg_recorder_enter(frame, true);                       \
        void *block = g_real.name arguments;                                             \
        hg_light_report(thread, frame, block, (bytes));                                  \
        return block;                                                                    \
    }                                                                                    \
    static HG_NOINLINE void *crowd_##name parameters {                                   \
        struct hg_thread *thread = tls_thread;                                           \
        if (hg_light_is_due(thread, (bytes))) return hg_slow_##name arguments;           \
        hg_light_ask(thread, (bytes));                                                   \
        void *block = g_real.name arguments;                                             \
        return HG_LIKELY(block != NULL) ? count(thread, block) : hg_light_get_nothing(); \
    }                                                                                    \
    static HG_NOINLINE void *careful_##name parameters {                                 \
        struct hg_thread *thread = start_carefully(FRAME(), (bytes));                    \
        if (!thread) return hg_slow_##name arguments;                                    \
        void *block = g_real.name arguments;                                             \
        return end_carefully(thread, block, block ? g_real.usable_size(block) : 0);      \
    }                                                                                    \
    static HG_NOINLINE void *told_##name parameters {                                    \
        struct hg_thread *thread = start_carefully(FRAME(), (bytes));                    \
        if (!thread) return hg_slow_##name arguments;                                    \
        uint64_t before = hg_real_word(g_real.given);                                    \
        void *block = g_real.name arguments;                                             \
        return end_carefully(thread, block, hg_real_word(g_real.given) - before);        \
    }                                                                                    \
    static HG_NOINLINE void *rare_##name parameters {                                    \
        uint32_t mode = hg_mode();                                                       \
        if (mode == HG_MODE_CAREFUL) return careful_##name arguments;                    \
        if (is_passed_on(mode)) return g_real.name arguments;                            \
        if (may_be_watched(mode)) return hg_watched_##name arguments;                    \
        return hg_slow_##name arguments;                                                 \
    }                                                                                    \
    void *hg_other_##name parameters {                                                   \
        uint32_t mode = hg_mode();                                                       \
        if (mode == HG_MODE_CROWDED) return crowd_##name arguments;                      \
        if (mode == HG_MODE_TOLD) return told_##name arguments;                          \
        return rare_##name arguments;                                                    \
    }

ALLOCATE(malloc, (size_t size), (size), size)
ALLOCATE(calloc, (size_t number, size_t size), (number, size), number *size)
ALLOCATE(aligned_alloc, (size_t alignment, size_t size), (alignment, size), size)
ALLOCATE(memalign, (size_t alignment, size_t size), (alignment, size), size)
ALLOCATE(valloc, (size_t size), (size), size)
ALLOCATE(pvalloc, (size_t size), (size), size)

static HG_NOINLINE int hg_slow_posix_memalign(void **out, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    hg_light_report(thread, frame, result == 0 ? *out : NULL, size);
    return result;
}

int hg_light_posix_memalign(void **out, size_t alignment, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (hg_light_is_due(thread, size)) return hg_slow_posix_memalign(out, alignment, size);
    hg_light_ask(thread, size);
    int result = g_real.posix_memalign(out, alignment, size);
    if (result == 0 && *out) count(thread, *out);
    else hg_light_get_nothing();
    return result;
}

int hg_other_posix_memalign(void **out, size_t alignment, size_t size) {
    uint32_t mode = hg_mode();
    if (mode == HG_MODE_CROWDED) return hg_light_posix_memalign(out, alignment, size);
    if (is_passed_on(mode)) return g_real.posix_memalign(out, alignment, size);
    if (may_be_watched(mode)) return hg_watched_posix_memalign(out, alignment, size);
    return hg_slow_posix_memalign(out, alignment, size);
}

void *hg_light_get_nothing(void) {
    struct hg_thread *thread = tls_thread;
    hg_add_at_once(&thread->record->bytes_allocated, -hg_load(&thread->tally.asked));
    return NULL;
}

void hg_light_loaded(const void *records) {
    if (!hg_mode_is_light()) return;
    if (records) hg_filter_add(records);
    else hg_mode_crowd(); /* there it is asked who calls */
}

void hg_light_unloaded(const void *records) {
    if (records && hg_mode_is_light()) hg_filter_remove(records);
}

/* The total falls from a peak: note it, then free. */
void hg_light_free_falling(void *block) {
    if (!tls_thread->record) {
        hg_slow_free(block);
        return;
    }
    hg_tally_fall(tls_thread);
    if (hg_mode() == HG_MODE_SAMPLED) hg_light_free(block);
    else hg_other_free(block);
}

void hg_light_free_settling(void *block) {
    hg_tally_settle(tls_thread);
    g_real.free(block);
}

/* Whether the block is known, or none of the allocator's, after the filter found something. */
HG_INLINE bool is_known_closely(void *block) {
    if (!block || hg_real_is_arena(block) || hg_filter_counts_finely(block)) return true;
    return hg_load(&g_filter.has_shadow);
}

void hg_light_free_near(void *block) {
    if (is_known_closely(block)) hg_slow_free(block);
    else hg_light_free_unknown(tls_thread, block, true);
}

static HG_NOINLINE void crowd_free(void *block) {
    struct hg_thread *thread = tls_thread;
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool is_special = HG_UNLIKELY(hg_filter_may_hold(block)) && is_known_closely(block);
    is_special |= hg_modules_is_loader(caller);
    if (HG_UNLIKELY(is_special)) hg_slow_free(block);
    else hg_light_free_unknown(thread, block, false);
}

/* NULL: the block must go through the slow door. */
HG_INLINE struct hg_thread *start_free_carefully(const struct hg_frame *frame, void *block) {
    struct hg_thread *thread = tls_thread;
    bool is_ready = hg_recorder_is_ready(thread) && !hg_modules_is_loader(frame->pc);
    if (!is_ready) return NULL;
    if (HG_UNLIKELY(hg_filter_may_hold(block)) && is_known_closely(block)) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    int64_t live = hg_tally_live(thread->tallied);
    if (HG_UNLIKELY(hg_tally_falls(&thread->tally, live))) hg_tally_fall(thread);
    return thread;
}

HG_INLINE void end_free_carefully(struct hg_thread *thread, size_t usable) {
    struct hg_thread_record *record = thread->tallied;
    bool settles = hg_tally_remove(&thread->tally, record, hg_tally_live(record), usable);
    if (HG_UNLIKELY(settles)) settle_carefully(thread, NULL);
    else hg_recorder_leave(thread);
}

static HG_NOINLINE void careful_free(void *block) {
    struct hg_thread *thread = start_free_carefully(FRAME(), block);
    if (!thread) {
        hg_slow_free(block);
        return;
    }
    size_t usable = g_real.usable_size(block);
    g_real.free(block);
    end_free_carefully(thread, usable);
}

static HG_NOINLINE void told_free(void *block) {
    struct hg_thread *thread = start_free_carefully(FRAME(), block);
    if (!thread) {
        hg_slow_free(block);
        return;
    }
    uint64_t before = hg_real_word(g_real.taken);
    g_real.free(block);
    end_free_carefully(thread, hg_real_word(g_real.taken) - before);
}

/* A block from the time before the real allocator was found must not reach it. */
static void release_unknown(void *block) {
    if (!hg_real_is_arena(block)) g_real.free(block);
}

/* While paused: whether a block may be known. After exact recording large ones are in the ledger's
 * open table, uncounted. The filter covers also what came from the arena. */
static bool may_be_known(void *block) {
    if (hg_filter_may_hold(block)) return true;
    if (!hg_load(&g_filter.has_shadow)) return false;
    return !g_real_has_size_word || hg_real_usable_by_word(block) >= HG_LEDGER_SMALL_LIMIT;
}

static HG_NOINLINE void rare_free(void *block) {
    uint32_t mode = hg_mode();
    if (mode == HG_MODE_CAREFUL) careful_free(block);
    else if (mode == HG_MODE_OFF) release_unknown(block);
    else if (mode == HG_MODE_WATCHED) hg_watched_free(block);
    else if (mode == HG_MODE_PAUSED && !may_be_known(block)) g_real.free(block);
    else hg_slow_free(block);
}

void hg_other_free(void *block) {
    uint32_t mode = hg_mode();
    if (mode == HG_MODE_CROWDED) crowd_free(block);
    else if (mode == HG_MODE_TOLD) told_free(block);
    else rare_free(block);
}

void *hg_light_realloc(void *from, size_t size) {
    struct hg_thread *thread = tls_thread;
    struct hg_thread_record *record = thread->record;
    bool is_short = record && from && size && !hg_filter_may_hold(from);
    if (HG_UNLIKELY(!is_short)) return hg_slow_realloc(from, size);
    int64_t live = hg_tally_live(record);
    size_t before = hg_real_usable_by_word(from);
    bool falls = size < before && hg_tally_falls(&thread->tally, live);
    if (HG_UNLIKELY(falls || hg_light_is_due(thread, size))) return hg_slow_realloc(from, size);
    void *to = g_real.realloc(from, size);
    if (HG_UNLIKELY(!to)) return NULL;
    hg_add_at_once(&record->reallocs, 1);
    bool settles = hg_tally_remove(&thread->tally, record, live, before);
    settles |= hg_tally_add(&thread->tally, record, size, hg_real_usable_by_word(to));
    return HG_UNLIKELY(settles) ? settle(thread, to) : to;
}

void *hg_other_realloc(void *from, size_t size) {
    uint32_t mode = hg_mode();
    if (mode == HG_MODE_CROWDED) return hg_light_realloc(from, size);
    if (may_be_watched(mode)) return hg_watched_realloc(from, size);
    bool is_paused = mode == HG_MODE_PAUSED;
    bool is_unknown = is_paused && (!from || !may_be_known(from));
    if (is_unknown || (mode == HG_MODE_OFF && !hg_real_is_arena(from))) {
        return g_real.realloc(from, size);
    }
    return hg_slow_realloc(from, size);
}
