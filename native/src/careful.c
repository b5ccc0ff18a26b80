#include "careful.h"

#include "allocating.h"
#include "light_way.h"
#include "modules.h"
#include "release.h"

/* NULL: it must go through the slow door. */
HG_INLINE struct hg_thread *start(const struct hg_frame *frame, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (!hg_recorder_is_ready(thread) || hg_light_is_due(thread, size)) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    hg_light_ask(thread, size);
    return thread;
}

static HG_NOINLINE void *settle(struct hg_thread *thread, void *block) {
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
    if (HG_UNLIKELY(hg_tally_rose(&thread->tally, record))) return settle(thread, block);
    hg_recorder_leave(thread);
    return block;
}

#define ALLOCATE(name, parameters, arguments, bytes)               \
    void *hg_careful_##name parameters {                           \
        struct hg_thread *thread = start(FRAME(), (bytes));        \
        if (HG_UNLIKELY(!thread)) return hg_slow_##name arguments; \
        return end(thread, g_real.name arguments);                 \
    }

HG_ALLOCATING(ALLOCATE)

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
    if (HG_UNLIKELY(settles)) settle(thread, NULL);
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
