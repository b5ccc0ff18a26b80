#include "watched.h"

#include "log.h"
#include "mode.h"
#include "release.h"
#include "slow.h"
#include "statistics.h"
#include "trace.h"

/* ---- telling --------------------------------------------------------------------------------------- */

/* Inside the recorder, if there is a thread: no handler's event meets this one. */
static void tell(const struct hg_event *event) {
    uint32_t watchers = hg_mode_watchers();
    if (watchers & HG_WATCHER_STATISTICS) hg_statistics_count(event);
    if (watchers & HG_WATCHER_LOG) hg_log_write(event);
    if (watchers & HG_WATCHER_TRACE) hg_trace_write(event);
}

static size_t usable_of(struct hg_thread *thread, void *block) {
    return thread ? hg_recorder_usable(thread, block) : hg_real_usable(block);
}

static struct hg_side got(struct hg_thread *thread, void *block, size_t size) {
    if (!hg_mode_watchers()) return (struct hg_side){.block = block};
    struct hg_side side = {block, size, 0, hg_event_number()};
    if (block) side.usable = usable_of(thread, block);
    return side;
}

/* A block that is about to go, and was taken out of the ledger by a thread that is recorded. */
static struct hg_side gone(struct hg_thread *thread, void *block, const struct hg_taken *taken) {
    if (!hg_mode_watchers()) return (struct hg_side){.block = block};
    size_t usable = usable_of(thread, block);
    size_t requested = taken->block.site ? taken->block.size : usable;
    return (struct hg_side){block, requested, usable, hg_event_number()};
}

/* The thread could not enter: the call is the allocator's own, and nobody's business. */
static bool is_allocators(const struct hg_thread *thread, const struct hg_frame *frame) {
    return !thread && hg_lifecycle_is_allocators(frame);
}

void hg_watched_report(struct hg_thread *thread, const struct hg_frame *frame, enum hg_call call,
                       void *block, size_t size) {
    /* The first call of a process comes here, too, as it may begin the log. */
    if (!hg_mode_watchers()) {
        hg_slow_report(thread, frame, block, size);
        return;
    }
    if (is_allocators(thread, frame)) return;
    if (thread) hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    struct hg_event event = {.call = call, .thread = thread, .frame = frame, .size = size};
    event.got = got(thread, block, size);
    tell(&event);
    hg_slow_report(thread, frame, block, size);
}

/* ---- hooks ----------------------------------------------------------------------------------------- */

#define ALLOCATE(name, call, parameters, arguments, bytes)                \
    void *hg_watched_##name parameters {                                  \
        const struct hg_frame *frame = FRAME();                           \
        hg_log_await();                                                   \
        struct hg_thread *thread = hg_recorder_enter(frame, true);        \
        void *block = g_real.name arguments;                              \
        hg_watched_report(thread, frame, HG_CALL_##call, block, (bytes)); \
        return block;                                                     \
    }

/* What does not fit is refused, and told of as the largest size there is. */
static size_t product(size_t count, size_t size) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

ALLOCATE(malloc, MALLOC, (size_t size), (size), size)
ALLOCATE(calloc, CALLOC, (size_t count, size_t size), (count, size), product(count, size))
ALLOCATE(aligned_alloc, ALIGNED_ALLOC, (size_t alignment, size_t size), (alignment, size), size)
ALLOCATE(memalign, MEMALIGN, (size_t alignment, size_t size), (alignment, size), size)
ALLOCATE(valloc, VALLOC, (size_t size), (size), size)
ALLOCATE(pvalloc, PVALLOC, (size_t size), (size), size)

int hg_watched_posix_memalign(void **out, size_t alignment, size_t size) {
    const struct hg_frame *frame = FRAME();
    hg_log_await();
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    int result = g_real.posix_memalign(out, alignment, size);
    hg_watched_report(thread, frame, HG_CALL_POSIX_MEMALIGN, result == 0 ? *out : NULL, size);
    return result;
}

static void release(void *block, const struct hg_frame *frame) {
    if (hg_real_is_arena(block)) return;
    hg_log_await();
    struct hg_thread *thread = hg_recorder_enter(frame, false);
    struct hg_event event = {.call = HG_CALL_FREE, .thread = thread, .frame = frame};
    struct hg_taken taken = {{0}, 0};
    if (thread && block) taken = hg_slow_take(thread, block);
    else if (thread) hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    event.old.number = block ? 0 : hg_event_number();
    if (block) event.old = gone(thread, block, &taken);
    if (!is_allocators(thread, frame)) tell(&event);
    if (thread && block) hg_slow_freed(thread, frame, block, &taken);
    if (thread) hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    if (block) g_real.free(block);
    if (thread) hg_recorder_leave(thread);
}

void hg_watched_free(void *block) {
    const struct hg_frame *frame = FRAME();
    release(block, frame);
    KEEP_FRAME();
}

static enum hg_call outcome(const void *from, const void *to, size_t size) {
    if (to) return to == from ? HG_CALL_REALLOC_INPLACE : HG_CALL_REALLOC_MOVED;
    return size ? HG_CALL_REALLOC_ALLOC : HG_CALL_REALLOC_FREE;
}

static void *resize(void *from, size_t size, const struct hg_frame *frame) {
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    struct hg_event event = {.thread = thread, .frame = frame, .size = size};
    struct hg_taken taken = {{0}, 0};
    if (thread) taken = hg_slow_take(thread, from);
    event.old = gone(thread, from, &taken);
    if (thread) hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    void *to = g_real.realloc(from, size);
    if (thread) hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    event.call = outcome(from, to, size);
    event.got = got(thread, to, size);
    if (event.call == HG_CALL_REALLOC_ALLOC)
        event.old.block = NULL; /* it failed: all is as it was */
    if (!is_allocators(thread, frame)) tell(&event);
    if (!thread) return to;
    hg_slow_resized(thread, frame, from, &taken, to, size);
    hg_recorder_leave(thread);
    return to;
}

void *hg_watched_realloc(void *from, size_t size) {
    const struct hg_frame *frame = FRAME();
    if (from && hg_real_is_arena(from)) return hg_real_leave_arena(from, size);
    hg_log_await();
    if (from) {
        void *to = resize(from, size, frame);
        KEEP_FRAME();
        return to;
    }
    struct hg_thread *thread = hg_recorder_enter(frame, true);
    void *block = g_real.realloc(NULL, size);
    hg_watched_report(thread, frame, HG_CALL_REALLOC_ALLOC, block, size);
    return block;
}
