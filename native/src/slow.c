#include "slow.h"

#include "budget.h"
#include "mode.h"
#include "modules.h"
#include "release.h"
#include "sampled.h"

static bool is_passed_on(uint32_t mode) { return mode == HG_MODE_PAUSED || mode == HG_MODE_OFF; }

/* The event came from a signal handler inside a hook: it cannot be recorded, but counted. (In CAREFUL
 * mode it may be the allocator's own, and is not.) */
static struct hg_thread *countable(void) {
    struct hg_thread *thread = tls_thread;
    uint32_t mode = hg_mode_beneath();
    bool is_counted = mode == HG_MODE_SAMPLED || mode == HG_MODE_CROWDED || mode == HG_MODE_TOLD;
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

void hg_slow_report(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                    size_t size) {
    uint32_t mode = hg_mode_beneath();
    if (!thread) {
        if (block) count_nested(block, size);
        return;
    }
    if (!block) hg_sampler_forget(hg_thread_sampler(thread), size);
    else if (hg_mode_is_exact(mode)) hg_recorder_allocated(thread, frame, block, size);
    else if (!is_passed_on(mode)) hg_sampled_allocated(thread, frame, block, size);
    hg_recorder_leave(thread);
}

struct hg_taken hg_slow_take(struct hg_thread *thread, void *block) {
    return hg_mode_is_light() ? hg_sampled_take(thread, block) : hg_recorder_take(thread, block);
}

void hg_slow_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
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

static void release(void *block, const struct hg_frame *frame) {
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
    struct hg_taken taken = hg_slow_take(thread, block);
    hg_slow_freed(thread, frame, block, &taken);
    hg_budget_end(begun);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    g_real.free(block);
    hg_recorder_leave(thread);
}

void hg_slow_free(void *block) {
    const struct hg_frame *frame = FRAME();
    release(block, frame);
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
    if (to || !size) hg_slow_freed(thread, frame, from, taken);
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

void hg_slow_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
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
    struct hg_taken taken = hg_slow_take(thread, from);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    void *to = g_real.realloc(from, size);
    hg_slow_resized(thread, frame, from, &taken, to, size);
    hg_recorder_leave(thread);
    return to;
}

void *hg_slow_realloc(void *from, size_t size) {
    const struct hg_frame *frame = FRAME();
    if (from && hg_real_is_arena(from)) return hg_real_leave_arena(from, size);
    if (from) {
        void *to = resize(from, size, frame);
        KEEP_FRAME();
        return to;
    }
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    void *block = g_real.realloc(NULL, size);
    hg_slow_report(thread, frame, block, size);
    return block;
}

/* ---- what allocates ---------------------------------------------------------------------------------- */

#define ALLOCATE(name, parameters, arguments, bytes)               \
    void *hg_slow_##name parameters {                              \
        const struct hg_frame *frame = FRAME();                    \
        struct hg_thread *thread = hg_recorder_enter(frame, true); \
        void *block = g_real.name arguments;                       \
        hg_slow_report(thread, frame, block, (bytes));             \
        return block;                                              \
    }

HG_ALLOCATING(ALLOCATE)

int hg_slow_posix_memalign(void **out, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    hg_slow_report(thread, frame, result == 0 ? *out : NULL, size);
    return result;
}
