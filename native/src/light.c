#include "light.h"

#include "mode.h"
#include "modules.h"
#include "release.h"

/* ---- what allocates ---------------------------------------------------------------------------------- */

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

#define ALLOCATE(name, parameters, arguments, bytes)                                     \
    void *hg_crowd_##name parameters {                                                   \
        struct hg_thread *thread = tls_thread;                                           \
        if (hg_light_is_due(thread, (bytes))) return hg_slow_##name arguments;           \
        hg_light_ask(thread, (bytes));                                                   \
        void *block = g_real.name arguments;                                             \
        return HG_LIKELY(block != NULL) ? count(thread, block) : hg_light_get_nothing(); \
    }

HG_ALLOCATING(ALLOCATE)

int hg_light_posix_memalign(void **out, size_t alignment, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (hg_light_is_due(thread, size)) return hg_slow_posix_memalign(out, alignment, size);
    hg_light_ask(thread, size);
    int result = g_real.posix_memalign(out, alignment, size);
    if (result == 0 && *out) count(thread, *out);
    else hg_light_get_nothing();
    return result;
}

static void *get_nothing(struct hg_sampler *sampler, uint64_t asked) {
    struct hg_thread_record *record = tls_thread->record; /* none: a handler has forked */
    if (!record) return NULL;
    hg_sampler_uncount(sampler, asked);
    hg_add_at_once(&record->bytes_allocated, -asked);
    return NULL;
}

void *hg_light_get_nothing(void) {
    return get_nothing(&tls_thread->sampler, hg_load(&tls_thread->tally.asked));
}

void *hg_light_get_nothing_in_front(void) {
    return get_nothing(&g_front.sampler, hg_load(&g_front.asked));
}

/* ---- what frees --------------------------------------------------------------------------------------- */

void hg_light_loaded(const void *records) {
    if (!hg_mode_is_light()) return;
    if (records) hg_filter_add(records);
    else hg_mode_look_closer();
}

void hg_light_unloaded(const void *records) {
    if (records && hg_mode_is_light()) hg_filter_remove(records);
}

/* The total falls from a peak: note it, then free. */
void hg_light_free_falling(void *block) {
    struct hg_thread *thread = tls_thread;
    struct hg_thread_record *record = thread->record;
    if (!record) {
        hg_slow_free(block);
        return;
    }
    hg_tally_fall(thread);
    size_t usable = hg_real_usable_by_word(block);
    if (hg_tally_remove(&thread->tally, record, hg_tally_live(record), usable))
        hg_tally_settle(thread);
    g_real.free(block);
}

void hg_light_free_settling(void *block) {
    hg_tally_settle(tls_thread);
    g_real.free(block);
}

void hg_light_free_near(void *block) {
    struct hg_thread_record *record = hg_load(&g_front.record); /* none: a handler has forked */
    if (!record || hg_light_is_known_closely(block)) hg_slow_free(block);
    else hg_light_free_unknown(record, block);
}

/* A thread never seen has a total that is about to fall. */
static void free_unknown_among_others(struct hg_thread *thread, void *block) {
    struct hg_thread_record *record = thread->tallied;
    int64_t live = hg_tally_live(record);
    size_t usable = hg_real_usable_by_word(block);
    if (HG_UNLIKELY(hg_tally_falls(&thread->tally, live))) {
        hg_light_free_falling(block);
        return;
    }
    bool settles = hg_tally_remove(&thread->tally, record, live, usable);
    if (HG_UNLIKELY(settles)) hg_light_free_settling(block);
    else g_real.free(block);
}

void hg_crowd_free(void *block) {
    struct hg_thread *thread = tls_thread;
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool is_special = HG_UNLIKELY(hg_filter_may_hold(block)) && hg_light_is_known_closely(block);
    is_special |= hg_modules_is_loader(caller);
    if (HG_UNLIKELY(is_special)) hg_slow_free(block);
    else free_unknown_among_others(thread, block);
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
    if (HG_UNLIKELY(!to)) {
        hg_sampler_uncount(&thread->sampler, size);
        return NULL;
    }
    hg_add_at_once(&record->reallocs, 1);
    bool settles = hg_tally_remove(&thread->tally, record, live, before);
    settles |= hg_tally_add(&thread->tally, record, size, hg_real_usable_by_word(to));
    return HG_UNLIKELY(settles) ? settle(thread, to) : to;
}

/* ---- paused, and off ---------------------------------------------------------------------------------- */

/* While paused: whether a block may be known. After exact recording large ones are in the ledger's
 * open table, uncounted, and what the loader has, which may be an object's: nobody else hears of its end. The
 * filter covers also what came from the arena. */
HG_INLINE bool may_be_known(const void *block, const void *caller) {
    if (hg_filter_may_hold(block)) return true;
    if (HG_LIKELY(!hg_load(&g_filter.has_shadow))) return false;
    if (hg_modules_is_loader((uintptr_t)caller)) return true;
    return !g_real_has_size_word || hg_real_usable_by_word(block) >= HG_LEDGER_SMALL_LIMIT;
}

void hg_paused_free(void *block) {
    if (HG_UNLIKELY(may_be_known(block, __builtin_return_address(0)))) hg_slow_free(block);
    else g_real.free(block);
}

void *hg_paused_realloc(void *from, size_t size) {
    if (from && may_be_known(from, __builtin_return_address(0))) return hg_slow_realloc(from, size);
    return g_real.realloc(from, size);
}

/* A block from the time before the real allocator was found must not reach it. */
void hg_off_free(void *block) {
    if (!hg_real_is_arena(block)) g_real.free(block);
}

void *hg_off_realloc(void *from, size_t size) {
    if (hg_real_is_arena(from)) return hg_real_leave_arena(from, size);
    return g_real.realloc(from, size);
}
