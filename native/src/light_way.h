/* The light hooks' short way, inlined into those in hooks.c: a block that is not sampled, freed or
 * allocated in a process that has had a single thread and nothing but samples in its ledger, as most
 * have. What it looks at is the front (front.h). Where there is more to mind the mode is CROWDED, and the forms in
 * light.c mind it. */
#ifndef HG_LIGHT_WAY_H
#define HG_LIGHT_WAY_H

#include "allocating.h"
#include "filter.h"
#include "light.h"
#include "real.h"
#include "slow.h"

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
