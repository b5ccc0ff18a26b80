/* The exported allocator functions: enter, the real call, one report, leave. Nothing else.
 *
 * Asking for its frame address makes a hook keep a frame pointer; behind it lie the caller's
 * registers, so our own frames never need unwinding. */
#include <errno.h>
#include <stddef.h>

#include "real.h"
#include "release.h"
#include "short_way.h"

/* An allocating hook: `call` gives the block or NULL, `bytes` is what was asked for. */
#define ALLOCATE(call, bytes)                                                           \
    struct hg_thread *thread = hg_recorder_enter(frame, true);                          \
    void *block = (call);                                                               \
    if (HG_UNLIKELY(!thread)) return block;                                             \
    if (HG_LIKELY(block != NULL)) hg_recorder_allocated(thread, frame, block, (bytes)); \
    hg_recorder_leave(thread);                                                          \
    return block

/* malloc, calloc and free are nearly all there is, so they take the short way if they can. What they
 * cannot do so they leave to a function that takes their place, by a jump: its frame is then theirs,
 * and they have nothing to save for it.
 *
 * glibc never calls us while it works; so the thread is busy only while the recorder is, and what a
 * signal handler does in between is an event like any other. */

/* The end of malloc and calloc when the thread is not ready: it may be its first event, or one inside
 * another. */
static HG_NOINLINE void *record_late(void *block, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = block ? hg_recorder_enter(frame, true) : NULL;
    if (!thread) return block;
    hg_recorder_allocated(thread, frame, block, size);
    hg_recorder_leave(thread);
    return block;
}

/* ... when it is, and in the recorder. */
static HG_NOINLINE void *record_generally(void *block, size_t size) {
    struct hg_thread *thread = tls_thread;
    hg_recorder_allocated(thread, FRAME(), block, size);
    hg_recorder_leave(thread);
    return block;
}

/* ... when it was the only one, and raised the peak just as a second one started. */
static HG_NOINLINE void *raise_again(void *block) {
    struct hg_thread *thread = tls_thread;
    hg_peak_raise_again(thread->clock.now);
    hg_recorder_leave(thread);
    return block;
}

HG_INLINE void *record(void *block, size_t size, const struct hg_frame *frame) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!block || !hg_recorder_is_ready(thread))) return record_late(block, size);
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(frame));
    switch (hg_short_allocated(thread, frame, block, size)) {
    case HG_SHORT_NO: return record_generally(block, size);
    case HG_SHORT_RAISE: return raise_again(block);
    case HG_SHORT_DONE: break;
    }
    hg_recorder_leave(thread);
    return block;
}

static HG_NOINLINE void *malloc_generally(size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.malloc(size), size);
}

HG_EXPORT void *malloc(size_t size) {
    if (HG_UNLIKELY(!hg_glance(&g_is_short_way_open))) return malloc_generally(size);
    return record(g_real.malloc(size), size, FRAME());
}

static HG_NOINLINE void *calloc_generally(size_t count, size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.calloc(count, size), count * size); /* overflow gives NULL */
}

HG_EXPORT void *calloc(size_t count, size_t size) {
    if (HG_UNLIKELY(!hg_glance(&g_is_short_way_open))) return calloc_generally(count, size);
    size_t bytes = count * size;
    return record(g_real.calloc(count, size), bytes, FRAME());
}

/* A block nothing is known of may be from the time before the real allocator was found. */
static void release_unknown(void *block) {
    if (!hg_real_is_arena(block)) g_real.free(block);
}

/* The general way of a free, by a thread that has entered. */
static void release(struct hg_thread *thread, void *block, const struct hg_frame *frame) {
    bool known = hg_recorder_freeing(thread, frame, block);
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    if (HG_LIKELY(known)) g_real.free(block);
    else release_unknown(block);
    hg_recorder_leave(thread);
}

void hg_release(void *block, const struct hg_frame *frame) {
    if (!block) return;
    struct hg_thread *thread = hg_recorder_enter(frame, false);
    if (HG_LIKELY(thread)) release(thread, block, frame);
    else release_unknown(block);
}

static HG_NOINLINE void free_generally(void *block) {
    hg_release(block, FRAME());
    KEEP_FRAME();
}

static HG_NOINLINE void free_entered(void *block) {
    release(tls_thread, block, FRAME());
    KEEP_FRAME();
}

HG_EXPORT void free(void *block) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = tls_thread;
    bool is_short = hg_glance(&g_is_short_way_open) && hg_recorder_is_ready(thread);
    if (HG_UNLIKELY(!block || !is_short)) return free_generally(block);
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(frame));
    if (HG_UNLIKELY(!hg_short_freeing(thread, frame, block))) return free_entered(block);
    hg_recorder_leave(thread);
    g_real.free(block);
}

HG_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.aligned_alloc(alignment, size), size);
}

HG_EXPORT void *memalign(size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.memalign(alignment, size), size);
}

HG_EXPORT void *valloc(size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.valloc(size), size);
}

HG_EXPORT void *pvalloc(size_t size) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.pvalloc(size), size);
}

HG_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    if (HG_UNLIKELY(!thread)) return result;
    if (result == 0 && *out) hg_recorder_allocated(thread, frame, *out, size);
    hg_recorder_leave(thread);
    return result;
}

HG_EXPORT void cfree(void *block) {
    const struct hg_frame *frame = FRAME();
    hg_release(block, frame);
    KEEP_FRAME();
}

HG_EXPORT void free_sized(void *block, size_t size) {
    const struct hg_frame *frame = FRAME();
    (void)size;
    hg_release(block, frame);
    KEEP_FRAME();
}

HG_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    (void)alignment, (void)size;
    hg_release(block, frame);
    KEEP_FRAME();
}

/* realloc and reallocarray after their special cases: `from` and `size` are not zero. */
static void *resize(void *from, size_t size, const struct hg_frame *frame) {
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    if (HG_UNLIKELY(!thread)) return g_real.realloc(from, size);
    struct hg_taken taken = hg_recorder_take(thread, from);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    void *to = g_real.realloc(from, size);
    if (HG_UNLIKELY(!taken.block.site)) {
        if (to) {
            hg_recorder_freed(thread, frame, from, &taken);
            hg_recorder_allocated(thread, frame, to, size);
        }
    } else if (HG_LIKELY(to != NULL)) {
        hg_recorder_resized(thread, frame, from, &taken, to, size);
    } else {
        hg_recorder_kept(thread, from, &taken);
    }
    hg_recorder_leave(thread);
    return to;
}

static void *allocate(size_t size, const struct hg_frame *frame, void *(*real)(void *, size_t)) {
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    void *block = real(NULL, size);
    if (HG_UNLIKELY(!thread)) return block;
    if (HG_LIKELY(block != NULL)) hg_recorder_allocated(thread, frame, block, size);
    hg_recorder_leave(thread);
    return block;
}

/* realloc(p, 0): glibc frees and returns NULL, others return a small block. Ask, do not assume. */
static void *resize_to_zero(void *from, const struct hg_frame *frame) {
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    if (HG_UNLIKELY(!thread)) return g_real.realloc(from, 0);
    struct hg_taken taken = hg_recorder_take(thread, from);
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    void *to = g_real.realloc(from, 0);
    if (!to || !taken.block.site) hg_recorder_freed(thread, frame, from, &taken);
    if (to && taken.block.site) hg_recorder_resized(thread, frame, from, &taken, to, 0);
    if (to && !taken.block.site) hg_recorder_allocated(thread, frame, to, 0);
    hg_recorder_leave(thread);
    return to;
}

static void *reallocate(void *from, size_t size, const struct hg_frame *frame) {
    if (!from) return allocate(size, frame, g_real.realloc);
    if (HG_UNLIKELY(hg_real_is_arena(from))) return hg_real_leave_arena(from, size);
    return HG_LIKELY(size) ? resize(from, size, frame) : resize_to_zero(from, frame);
}

HG_EXPORT void *realloc(void *from, size_t size) {
    const struct hg_frame *frame = FRAME();
    void *to = reallocate(from, size, frame);
    KEEP_FRAME();
    return to;
}

HG_EXPORT void *reallocarray(void *from, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    const struct hg_frame *frame = FRAME();
    void *to = reallocate(from, bytes, frame);
    KEEP_FRAME();
    return to;
}

HG_EXPORT size_t malloc_usable_size(void *block) {
    if (HG_UNLIKELY(hg_real_is_arena(block))) return hg_real_arena_size(block);
    return g_real.usable_size(block);
}
