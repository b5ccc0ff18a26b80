/* The hooks while blocks are sampled above glibc, and while recording is paused or off, in the place of
 * those in hooks.c, which jump here.
 *
 * While sampling, a block that is not taken costs a countdown and a few counters and never enters
 * the recorder. Paused, or off, an allocation is a jump to the real one. */
#ifndef HG_LIGHT_H
#define HG_LIGHT_H

#include "base.h"
#include "filter.h"
#include "real.h"
#include "release.h"
#include "slow.h"

/* ---- light ------------------------------------------------------------------------------------- */

/* While sampling; the others are in light.h. */
int hg_light_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_light_realloc(void *from, size_t size);

/* The same where there is more to mind than one thread's samples: see light.h. */
void *hg_crowd_malloc(size_t size);
void *hg_crowd_calloc(size_t number, size_t size);
void *hg_crowd_aligned_alloc(size_t alignment, size_t size);
void *hg_crowd_memalign(size_t alignment, size_t size);
void *hg_crowd_valloc(size_t size);
void *hg_crowd_pvalloc(size_t size);
void hg_crowd_free(void *block);

/* While paused, and while off: what is freed may have been recorded before, or not be the allocator's. */
void hg_paused_free(void *block);
void *hg_paused_realloc(void *from, size_t size);
void hg_off_free(void *block);
void *hg_off_realloc(void *from, size_t size);

/* What was asked for is counted, and the real allocator has no block: after hg_light_ask(), and in front. */
void *hg_light_get_nothing(void);
void *hg_light_get_nothing_in_front(void);

/* A free of a block that the filter counts, itself or one beside it. */
void hg_light_free_near(void *block);
/* A free that makes the total fall from a peak, or crosses another bound: see tally.h. */
void hg_light_free_falling(void *block);
void hg_light_free_settling(void *block);

/* While sampling, a free looks at its block, not at who calls it. So that it sees when the loader drops an
 * object: `records` are what it frees last of it; NULL: that is not known. */
void hg_light_loaded(const void *records);
void hg_light_unloaded(const void *records);

/* ---- light way --------------------------------------------------------------------------------- */

/* The light hooks' short way, inlined into those in hooks.c: a block that is not sampled, freed or
 * allocated in a process that has had a single thread and nothing but samples in its ledger, as most
 * have. What it looks at is the front (front.h). Where there is more to mind the mode is CROWDED, and the forms in
 * light.c mind it. */

/* Whether the block must go through the slow door: the countdown has ended. That of a thread never
 * seen always has, so whoever gets past this has a record. */
HG_INLINE bool hg_light_is_due(struct hg_thread *thread, size_t size) {
    return HG_UNLIKELY(hg_sampler_count(&thread->sampler, size));
}

/* What is needed after the real call is what a hook has to save: the record alone. */
HG_INLINE struct hg_thread_record *hg_light_ask(struct hg_thread *thread, size_t size) {
    struct hg_thread_record *record = thread->tallied;
    hg_tally_ask(record, size);
    hg_store(&thread->tally.asked, size);
    return record;
}

/* Whether the only thread's block, of which the front is, need not go through the slow door. */
HG_INLINE bool hg_light_passes(size_t size) {
    return hg_front_is_mine() && HG_LIKELY(!hg_sampler_count(&g_front.sampler, size));
}

/* Growing alone needs no look at the total: see tally.h. */
#define HG_LIGHT_ALLOCATE(name, parameters, arguments, bytes)            \
    HG_INLINE void *hg_light_##name parameters {                         \
        struct hg_thread_record *record = hg_load(&g_front.record);      \
        if (!hg_light_passes(bytes)) return hg_slow_##name arguments;    \
        hg_tally_ask(record, (bytes));                                   \
        hg_store(&g_front.asked, (bytes));                               \
        void *block = g_real.name arguments;                             \
        if (HG_UNLIKELY(!block)) return hg_light_get_nothing_in_front(); \
        hg_tally_get(record, hg_real_usable_by_word(block));             \
        return block;                                                    \
    }

HG_ALLOCATING(HG_LIGHT_ALLOCATE)

/* Whether a block is known, or none of the allocator's, after the filter found something. */
HG_INLINE bool hg_light_is_known_closely(void *block) {
    if (!block || hg_real_is_arena(block) || hg_filter_counts_finely(block)) return true;
    return hg_load(&g_filter.has_shadow);
}

/* The only thread's block is not known. */
HG_INLINE void hg_light_free_unknown(struct hg_thread_record *record, void *block) {
    int64_t live = hg_tally_live(record);
    size_t usable = hg_real_usable_by_word(block);
    if (HG_UNLIKELY(live > hg_glance(&g_front.falling))) {
        hg_light_free_falling(block);
        return;
    }
    hg_tally_count_free(record, usable);
    g_real.free(block);
}

/* The filter holds NULL, too, and what the loader frees when it unloads an object. */
HG_INLINE void hg_light_free(void *block) {
    struct hg_thread_record *record = hg_load(&g_front.record);
    if (!hg_front_is_mine()) hg_slow_free(block);
    else if (HG_UNLIKELY(hg_filter_counts(block))) hg_light_free_near(block);
    else hg_light_free_unknown(record, block);
}

#endif
