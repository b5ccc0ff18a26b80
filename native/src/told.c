#include "told.h"

#include "light.h"
#include "modules.h"
#include "release.h"

/* ---- told -------------------------------------------------------------------------------------- */

/* ---- what allocates ---------------------------------------------------------------------------------- */

/* There was no block after all. */
static HG_NOINLINE void *uncount(size_t size) {
    struct hg_thread_record *record = tls_thread->tallied;
    hg_add_at_once(&record->allocations, -1);
    hg_add_at_once(&record->bytes_allocated, -size);
    hg_add_at_once(&record->usable_allocated, -hg_real_class(size));
    hg_sampler_uncount(&tls_thread->sampler, size);
    return NULL;
}

/* Sizes of known classes are not 0. */
HG_INLINE bool is_due(struct hg_thread *thread, size_t size) {
    return hg_subtract_at_once(&thread->sampler.left, size);
}

/* A block is counted before it is there: then a hook has nothing to remember but the size. */
#define ALLOCATE(name, parameters, arguments, bytes)                                     \
    HG_INLINE void *get_##name parameters {                                              \
        void *block = g_real.name arguments;                                             \
        return HG_LIKELY(block != NULL) ? block : uncount(bytes);                        \
    }                                                                                    \
    static HG_NOINLINE void *settle_##name parameters {                                  \
        hg_tally_settle(tls_thread);                                                     \
        return get_##name arguments;                                                     \
    }                                                                                    \
    void *hg_told_##name parameters {                                                    \
        struct hg_thread *thread = tls_thread;                                           \
        size_t usable = hg_real_class(bytes);                                            \
        if (HG_UNLIKELY(!usable)) return hg_careful_##name arguments;                    \
        if (HG_UNLIKELY(is_due(thread, (bytes)))) return hg_slow_##name arguments;       \
        if (HG_UNLIKELY(hg_tally_add(&thread->tally, thread->tallied, (bytes), usable))) \
            return settle_##name arguments;                                              \
        return get_##name arguments;                                                     \
    }

ALLOCATE(malloc, (size_t size), (size), size)
ALLOCATE(calloc, (size_t number, size_t size), (number, size), number *size)

void *hg_told_get(size_t size) {
    struct hg_thread *thread = tls_thread;
    size_t usable = hg_real_class(size);
    if (HG_UNLIKELY(!usable || is_due(thread, size))) return NULL;
    if (HG_UNLIKELY(hg_tally_add(&thread->tally, thread->tallied, size, usable)))
        return settle_malloc(size);
    return get_malloc(size);
}

/* ---- what frees --------------------------------------------------------------------------------------- */

HG_INLINE uint64_t count_of_ours(const struct hg_thread_record *record) {
    uint64_t ours = hg_load(&record->usable_freed);
    hg_in_order();
    return ours;
}

/* After a free, before which the allocator's count of what it took back was `ahead` of ours, by what is no
 * event of ours. Returns our count: what it was and the block, and what handlers freed meanwhile. */
HG_INLINE uint64_t catch_up(struct hg_thread_record *record, uint64_t ahead) {
    uint64_t ours = count_of_ours(record), now;
    do {
        now = hg_real_taken() - ahead;
    } while (HG_UNLIKELY(!hg_swap_own(&record->usable_freed, &ours, now)));
    return now;
}

static HG_NOINLINE void settle(struct hg_thread *thread) { hg_tally_settle(thread); }

/* False: a handler freed something since our count was `ours`, and nothing was done. */
HG_INLINE bool release(struct hg_thread *thread, void *block, uint64_t ours) {
    struct hg_thread_record *record = thread->tallied;
    uint64_t ahead = hg_real_taken() - ours;
    if (HG_UNLIKELY(ours != count_of_ours(record))) return false;
    __asm__("" : "+r"(ahead)); /* one register across the call, not the two it is made of */
    hg_add_at_once(&record->frees, 1);
    g_real.free(block);
    int64_t live = (int64_t)(hg_load(&record->usable_allocated) - catch_up(record, ahead));
    if (HG_UNLIKELY(live < hg_glance(&thread->tally.low))) settle(thread);
    return true;
}

HG_INLINE bool falls(const struct hg_thread *thread, uint64_t ours) {
    uint64_t allocated = hg_load(&thread->tallied->usable_allocated);
    return hg_tally_falls(&thread->tally, (int64_t)(allocated - ours));
}

/* The total falls from a peak, or its bounds have to be looked at. */
static HG_NOINLINE void release_falling(void *block) {
    struct hg_thread *thread = tls_thread;
    if (!thread->record) {
        hg_slow_free(block);
        return;
    }
    hg_tally_fall(thread);
    while (!release(thread, block, count_of_ours(thread->record))) continue;
}

HG_INLINE void release_unknown(struct hg_thread *thread, void *block, uint64_t ours) {
    if (HG_UNLIKELY(falls(thread, ours)) || HG_UNLIKELY(!release(thread, block, ours)))
        release_falling(block);
}

static HG_NOINLINE void release_near(void *block) {
    struct hg_thread *thread = tls_thread;
    if (hg_light_is_known_closely(block)) hg_slow_free(block);
    else release_unknown(thread, block, count_of_ours(thread->tallied));
}

void hg_told_free(void *block) {
    struct hg_thread *thread = tls_thread;
    uint64_t ours = count_of_ours(thread->tallied);
    if (HG_UNLIKELY(hg_filter_counts(block))) release_near(block);
    else release_unknown(thread, block, ours);
}

/* ---- careful ----------------------------------------------------------------------------------- */

/* NULL: it must go through the slow door. */
HG_INLINE struct hg_thread *start(const struct hg_frame *frame, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (!hg_recorder_is_ready(thread) || hg_light_is_due(thread, size)) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    hg_light_ask(thread, size);
    return thread;
}

static HG_NOINLINE void *settle_asked(struct hg_thread *thread, void *block) {
    hg_tally_settle(thread);
    hg_recorder_leave(thread);
    return block;
}

static HG_NOINLINE void *end_without(struct hg_thread *thread) {
    hg_recorder_leave(thread);
    return hg_light_get_nothing();
}

HG_INLINE void *end(struct hg_thread *thread, void *block) {
    struct hg_thread_record *record = thread->tallied;
    if (HG_UNLIKELY(!block)) return end_without(thread);
    hg_tally_get(record, g_real.usable_size(block));
    if (HG_UNLIKELY(hg_tally_rose(&thread->tally, record))) return settle_asked(thread, block);
    hg_recorder_leave(thread);
    return block;
}

#define ALLOCATE_ASKED(name, parameters, arguments, bytes)         \
    void *hg_careful_##name parameters {                           \
        struct hg_thread *thread = start(FRAME(), (bytes));        \
        if (HG_UNLIKELY(!thread)) return hg_slow_##name arguments; \
        return end(thread, g_real.name arguments);                 \
    }

HG_ALLOCATING(ALLOCATE_ASKED)

/* NULL: the block must go through the slow door. */
HG_INLINE struct hg_thread *start_free(const struct hg_frame *frame, void *block) {
    struct hg_thread *thread = tls_thread;
    bool is_ready = hg_recorder_is_ready(thread) && !hg_modules_is_loader(frame->pc);
    if (!is_ready) return NULL;
    if (HG_UNLIKELY(hg_filter_may_hold(block)) && hg_light_is_known_closely(block)) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    int64_t live = hg_tally_live(thread->tallied);
    if (HG_UNLIKELY(hg_tally_falls(&thread->tally, live))) hg_tally_fall(thread);
    return thread;
}

HG_INLINE void end_free(struct hg_thread *thread, size_t usable) {
    struct hg_thread_record *record = thread->tallied;
    bool settles = hg_tally_remove(&thread->tally, record, hg_tally_live(record), usable);
    if (HG_UNLIKELY(settles)) settle_asked(thread, NULL);
    else hg_recorder_leave(thread);
}

void hg_careful_free(void *block) {
    struct hg_thread *thread = start_free(FRAME(), block);
    if (HG_UNLIKELY(!thread)) {
        hg_slow_free(block);
        return;
    }
    size_t usable = g_real.usable_size(block);
    g_real.free(block);
    end_free(thread, usable);
}
