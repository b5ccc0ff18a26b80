/* The exported allocator functions: enter, the real call, one report, leave. Nothing else.
 *
 * Asking for its frame address makes a hook keep a frame pointer; behind it lie the caller's
 * registers, so our own frames never need unwinding. */
#include <errno.h>
#include <stddef.h>

#include "real.h"
#include "release.h"

/* An allocating hook: `call` gives the block or NULL, `bytes` is what was asked for. */
#define ALLOCATE(call, bytes)                                                           \
    const struct hg_frame *frame = FRAME();                                             \
    struct hg_thread *thread = hg_recorder_enter(frame, true);                          \
    void *block = (call);                                                               \
    if (HG_UNLIKELY(!thread)) return block;                                             \
    if (HG_LIKELY(block != NULL)) hg_recorder_allocated(thread, frame, block, (bytes)); \
    hg_recorder_leave(thread);                                                          \
    return block

HG_EXPORT void *malloc(size_t size) { ALLOCATE(g_real.malloc(size), size); }

HG_EXPORT void *calloc(size_t count, size_t size) {
    ALLOCATE(g_real.calloc(count, size), count * size); /* overflow gives NULL */
}

HG_EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    ALLOCATE(g_real.aligned_alloc(alignment, size), size);
}

HG_EXPORT void *memalign(size_t alignment, size_t size) {
    ALLOCATE(g_real.memalign(alignment, size), size);
}

HG_EXPORT void *valloc(size_t size) { ALLOCATE(g_real.valloc(size), size); }

HG_EXPORT void *pvalloc(size_t size) { ALLOCATE(g_real.pvalloc(size), size); }

HG_EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    if (HG_UNLIKELY(!thread)) return result;
    if (result == 0 && *out) hg_recorder_allocated(thread, frame, *out, size);
    hg_recorder_leave(thread);
    return result;
}

HG_EXPORT void free(void *block) { hg_release(block, FRAME()); }

HG_EXPORT void cfree(void *block) { hg_release(block, FRAME()); }

HG_EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    hg_release(block, FRAME());
}

HG_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size) {
    (void)alignment, (void)size;
    hg_release(block, FRAME());
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
    KEEP_FRAME(frame);
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
    KEEP_FRAME(frame);
    return to;
}

HG_EXPORT size_t malloc_usable_size(void *block) {
    if (HG_UNLIKELY(hg_real_is_arena(block))) return hg_real_arena_size(block);
    return g_real.usable_size(block);
}
