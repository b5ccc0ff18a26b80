/* The exported allocator functions: enter, the real call, one report, leave. Nothing else.
 *
 * Each is a jump: to a function that is the hook proper, in its place, or in other modes than exact
 * recording to one elsewhere. (As one function it would save the registers of all.) Asking for its
 * frame address makes a hook keep a frame pointer; behind it lie the caller's registers, so our own
 * frames never need unwinding. */
#include <errno.h>
#include <stddef.h>

#include "light.h"
#include "mode.h"
#include "real.h"
#include "release.h"
#include "short_way.h"
#include "told.h"
#include "watched.h"

/* What an allocation is while nothing is recorded. */
#define PASS_ON(name, parameters, arguments, bytes) \
    static HG_NOINLINE void *pass_on_##name parameters { return g_real.name arguments; }
HG_ALLOCATING(PASS_ON)

static HG_NOINLINE int pass_on_posix_memalign(void **out, size_t alignment, size_t size) {
    return g_real.posix_memalign(out, alignment, size);
}

/* What a hook is in the modes in which hooks differ. */
#define WAYS(unstarted, paused, off, shared, classed, other, crowded, careful, told)       \
    [HG_MODE_UNSTARTED] = (unstarted), [HG_MODE_PAUSED] = (paused), [HG_MODE_OFF] = (off), \
    [HG_MODE_SHARED] = (shared), [HG_MODE_CLASSED] = (classed), [HG_MODE_OTHER] = (other), \
    [HG_MODE_CROWDED] = (crowded), [HG_MODE_CAREFUL] = (careful), [HG_MODE_TOLD] = (told)
#define ALLOCATING_WAYS(name, ...) \
    WAYS(hg_watched_##name, pass_on_##name, pass_on_##name, __VA_ARGS__)

/* The exported function `name`, and the head of its hook proper. The modes that most programs are in, with
 * one thread, are asked for; the others are places in a table. */
#define HOOK(type, name, parameters, arguments, ...)                                              \
    static HG_NOINLINE type exact_##name parameters;                                              \
    static type(*const name##_by_mode[HG_MODE_WORDS])                                             \
        parameters = {[HG_MODE_EXACT] = exact_##name,        [HG_MODE_SAMPLED] = hg_light_##name, \
                      [HG_MODE_THOROUGH] = hg_slow_##name,   [HG_MODE_GENERAL] = hg_slow_##name,  \
                      [HG_MODE_WATCHED] = hg_watched_##name, __VA_ARGS__};                        \
    HG_EXPORT type name parameters {                                                              \
        uint32_t mode = hg_mode();                                                                \
        if (HG_LIKELY(mode == HG_MODE_EXACT)) return exact_##name arguments;                      \
        if (mode == HG_MODE_SAMPLED) return hg_light_##name arguments;                            \
        return name##_by_mode[mode] arguments;                                                    \
    }                                                                                             \
    static type exact_##name parameters

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
 * glibc never calls us while it works; so what comes in between is a signal handler's, and an event
 * like any other. */

/* What such a function returns. A compiler that knows it to be the block would keep the block itself
 * meanwhile, and call instead of jump: clang does. */
HG_INLINE void *returned(void *block) {
    __asm__("" : "+r"(block));
    return block;
}

/* The end of malloc and calloc in the recorder. The thread may be new, or inside another event. */
static HG_NOINLINE void *record_generally(void *block, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = block ? hg_recorder_enter(frame, true) : NULL;
    if (!thread) return returned(block);
    hg_recorder_allocated(thread, frame, block, size);
    hg_recorder_leave(thread);
    return returned(block);
}

HG_INLINE void *record_of(struct hg_thread *thread, void *block, size_t size,
                          const struct hg_frame *frame, enum hg_short_kind kind, bool is_alone) {
    __asm__("" : "+r"(frame)); /* one register for it, not a new copy at every use */
    if (HG_LIKELY(hg_short_arrive(thread, frame, block, size, kind, is_alone))) return block;
    return record_generally(block, size);
}

HG_INLINE void *record(void *block, size_t size, const struct hg_frame *frame, bool is_alone) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) return record_generally(block, size);
    return record_of(thread, block, size, frame, HG_SHORT_GLIBC, is_alone);
}

/* Other allocators may call us while they work. */
HG_INLINE struct hg_thread *begin_other(const struct hg_frame *frame) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) return NULL;
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    return thread;
}

static HG_NOINLINE void *record_entered(void *block, size_t size) {
    struct hg_thread *thread = tls_thread;
    hg_recorder_allocated(thread, FRAME(), block, size);
    hg_recorder_leave(thread);
    return returned(block);
}

HG_INLINE void *record_other(struct hg_thread *thread, void *block, size_t size,
                             const struct hg_frame *frame) {
    if (HG_LIKELY(block != NULL)) {
        hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(frame));
        if (HG_UNLIKELY(
                !hg_short_arrive(thread, frame, block, size, HG_SHORT_ASKED, hg_peak_is_alone())))
            return record_entered(block, size);
    }
    hg_recorder_leave(thread);
    return block;
}

static HG_NOINLINE void *other_malloc(size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = begin_other(frame);
    if (HG_UNLIKELY(!thread)) return hg_slow_malloc(size);
    return record_other(thread, g_real.malloc(size), size, frame);
}

/* Among several threads. */
static HG_NOINLINE void *shared_malloc(size_t size) {
    return record(g_real.malloc(size), size, FRAME(), false);
}

/* Above jemalloc what comes in between is an event like any other, too; but for what it sets up when a
 * thread first calls it. */
static HG_NOINLINE void *classed_malloc(size_t size) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) return hg_slow_malloc(size);
    void *block = g_real.malloc(size);
    return record_of(thread, block, size, FRAME(), HG_SHORT_CLASSED, hg_peak_is_alone());
}

HOOK(void *, malloc, (size_t size), (size),
     ALLOCATING_WAYS(malloc, shared_malloc, classed_malloc, other_malloc, hg_crowd_malloc,
                     hg_careful_malloc, hg_told_malloc)) {
    return record(g_real.malloc(size), size, FRAME(), true);
}

static HG_NOINLINE void *other_calloc(size_t count, size_t size) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = begin_other(frame);
    if (HG_UNLIKELY(!thread)) return hg_slow_calloc(count, size);
    size_t bytes = count * size; /* overflow gives NULL */
    return record_other(thread, g_real.calloc(count, size), bytes, frame);
}

static HG_NOINLINE void *classed_calloc(size_t count, size_t size) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) return hg_slow_calloc(count, size);
    size_t bytes = count * size;
    void *block = g_real.calloc(count, size);
    return record_of(thread, block, bytes, FRAME(), HG_SHORT_CLASSED, hg_peak_is_alone());
}

static HG_NOINLINE void *shared_calloc(size_t count, size_t size) {
    size_t bytes = count * size;
    return record(g_real.calloc(count, size), bytes, FRAME(), false);
}

HOOK(void *, calloc, (size_t count, size_t size), (count, size),
     ALLOCATING_WAYS(calloc, shared_calloc, classed_calloc, other_calloc, hg_crowd_calloc,
                     hg_careful_calloc, hg_told_calloc)) {
    size_t bytes = count * size;
    return record(g_real.calloc(count, size), bytes, FRAME(), true);
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

/* Above another allocator: by the short way, from a peak too. */
HG_INLINE bool departs_other(struct hg_thread *thread, const struct hg_frame *frame, void *block) {
    bool is_alone = hg_peak_is_alone();
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(frame));
    if (is_alone && hg_peak_falls(thread->record)) hg_peak_note(thread);
    return hg_short_depart(thread, block, HG_SHORT_ASKED, is_alone);
}

void hg_release(void *block, const struct hg_frame *frame) {
    if (!block) return;
    struct hg_thread *thread = hg_recorder_enter(frame, false);
    if (!thread) {
        release_unknown(block);
    } else if (hg_mode_is_other(hg_mode()) && departs_other(thread, frame, block)) {
        hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
        g_real.free(block);
        hg_recorder_leave(thread);
    } else {
        release(thread, block, frame);
    }
}

static HG_NOINLINE void free_generally(void *block) {
    hg_release(block, FRAME());
    KEEP_FRAME();
}

static HG_NOINLINE void free_entered(void *block) {
    release(tls_thread, block, FRAME());
    KEEP_FRAME();
}

static HG_NOINLINE void other_free(void *block) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!block || !hg_recorder_is_ready(thread))) return free_generally(block);
    if (HG_UNLIKELY(!departs_other(thread, frame, block))) return free_entered(block);
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    g_real.free(block);
    hg_recorder_leave(thread);
}

/* Of the hook that it is inlined into. */
HG_INLINE void free_shortly(struct hg_thread *thread, void *block, enum hg_short_kind kind,
                            bool is_alone) {
    if (HG_LIKELY(hg_short_depart(thread, block, kind, is_alone))) g_real.free(block);
    else free_generally(block);
}

static HG_NOINLINE void shared_free(void *block) {
    struct hg_thread *thread = tls_thread;
    if (HG_LIKELY(hg_recorder_is_ready(thread))) free_shortly(thread, block, HG_SHORT_GLIBC, false);
    else free_generally(block);
}

static HG_NOINLINE void free_from_peak(void *block);

static HG_NOINLINE void classed_free(void *block) {
    struct hg_thread *thread = tls_thread;
    bool is_alone = hg_peak_is_alone();
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) free_generally(block);
    else if (is_alone && hg_peak_falls(thread->record)) free_from_peak(block);
    else free_shortly(thread, block, HG_SHORT_CLASSED, is_alone);
}

HOOK(void, free, (void *block), (block),
     WAYS(hg_slow_free, hg_paused_free, hg_off_free, shared_free, classed_free, other_free,
          hg_crowd_free, hg_careful_free, hg_told_free)) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) free_generally(block);
    else if (hg_peak_falls(thread->record)) free_from_peak(block);
    else free_shortly(thread, block, HG_SHORT_GLIBC, true);
}

/* Aligned blocks are rare: what tells them apart is no way of its own. */
#define ALIGNING_WAYS(name)                                                          \
    ALLOCATING_WAYS(name, exact_##name, exact_##name, exact_##name, hg_crowd_##name, \
                    hg_careful_##name, hg_careful_##name)

HOOK(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size),
     ALIGNING_WAYS(aligned_alloc)) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.aligned_alloc(alignment, size), size);
}

HOOK(void *, memalign, (size_t alignment, size_t size), (alignment, size),
     ALIGNING_WAYS(memalign)) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.memalign(alignment, size), size);
}

HOOK(void *, valloc, (size_t size), (size), ALIGNING_WAYS(valloc)) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.valloc(size), size);
}

HOOK(void *, pvalloc, (size_t size), (size), ALIGNING_WAYS(pvalloc)) {
    const struct hg_frame *frame = FRAME();
    ALLOCATE(g_real.pvalloc(size), size);
}

HOOK(int, posix_memalign, (void **out, size_t alignment, size_t size), (out, alignment, size),
     ALLOCATING_WAYS(posix_memalign, exact_posix_memalign, exact_posix_memalign,
                     exact_posix_memalign, hg_light_posix_memalign, hg_slow_posix_memalign,
                     hg_slow_posix_memalign)) {
    const struct hg_frame *frame = FRAME();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    if (HG_UNLIKELY(!thread)) return result;
    if (result == 0 && *out) hg_recorder_allocated(thread, frame, *out, size);
    hg_recorder_leave(thread);
    return result;
}

/* The other exported functions that free have nothing to add to it; each is a jump there. */
void hg_free(void *block) {
    uint32_t mode = hg_mode();
    if (HG_LIKELY(mode == HG_MODE_EXACT)) exact_free(block);
    else free_by_mode[mode](block);
}

/* The total is about to fall from a peak that is not noted, as it does at each free while a program
 * grows. */
static HG_NOINLINE void free_from_peak(void *block) {
    struct hg_thread *thread = tls_thread;
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(FRAME()));
    hg_peak_note(thread);
    hg_recorder_leave(thread);
    hg_free(block);
}

HG_EXPORT void cfree(void *block) { hg_free(block); }

HG_EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    hg_free(block);
}

HG_EXPORT void free_aligned_sized(void *block, size_t alignment, size_t size) {
    (void)alignment, (void)size;
    hg_free(block);
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

HOOK(void *, realloc, (void *from, size_t size), (from, size),
     WAYS(hg_watched_realloc, hg_paused_realloc, hg_off_realloc, exact_realloc, exact_realloc,
          exact_realloc, hg_light_realloc, hg_slow_realloc, hg_slow_realloc)) {
    const struct hg_frame *frame = FRAME();
    void *to = reallocate(from, size, frame);
    KEEP_FRAME();
    return to;
}

/* As libc's does, by the program's realloc: that need not be ours where a program or a library in front
 * of us has a malloc of its own, but no reallocarray. It is a jump, and its caller the program. */
HG_EXPORT void *reallocarray(void *from, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(from, bytes);
}

HG_EXPORT size_t malloc_usable_size(void *block) {
    if (HG_UNLIKELY(hg_real_is_arena(block))) return hg_real_arena_size(block);
    return g_real.told_size(block);
}
