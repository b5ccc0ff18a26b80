/* A second opinion: logs every call of the malloc family with its full stack, one after the other.
 *
 * Preloaded in front of heapglass, it sees what the program asks and what it gets, and lets one
 * call pass at a time, so that the log is the one true order of events. Slow and simple on purpose;
 * shares no code with the recorder. Stacks come from libgcc's unwinder, as backtrace() gives them.
 *
 * The log is a file mapped shared ($WITNESS_OUT.PID.N): the number of 64-bit words used, then the
 * records: kind | frames << 8 | tid << 32, old pointer, new pointer, size, usable size of the new
 * block, wall clock before and after the call (ns), return addresses from the caller outwards.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#define EXPORT __attribute__((visibility("default")))
enum { MAX_FRAMES = 4096, ALLOCATE = 1, RESIZE = 2, FREE = 3 };
static const size_t LOG_SIZE = (size_t)4 << 30;

struct call {
    uint64_t kind, old, size;
    uint64_t before;
    uint64_t frame_count;
};

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_reallocarray)(void *, size_t, size_t);
static void *(*next_memalign)(size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void (*next_free)(void *);
static size_t (*next_usable)(void *);

static uint64_t *g_log;
static pid_t g_pid;
static int g_lock;
static __thread bool t_is_inside __attribute__((tls_model("initial-exec")));
static __thread uint64_t t_frames[MAX_FRAMES] __attribute__((tls_model("initial-exec")));
static char g_early[65536];
static size_t g_early_used;

extern char __ehdr_start __attribute__((visibility("hidden")));
extern char etext __attribute__((visibility("hidden")));

/* What dlsym itself asks for while we look up the real functions. */
static void *early(size_t size) {
    void *p = g_early + g_early_used;
    g_early_used += (size + 15) & ~(size_t)15;
    return p;
}

static bool is_early(const void *p) {
    return (const char *)p >= g_early && (const char *)p < g_early + sizeof g_early;
}

#define LOOK_UP(field, name) *(void **)&field = dlsym(RTLD_NEXT, name)

static void look_up(void) {
    t_is_inside = true;
    LOOK_UP(next_calloc, "calloc");
    LOOK_UP(next_realloc, "realloc");
    LOOK_UP(next_reallocarray, "reallocarray");
    LOOK_UP(next_memalign, "memalign");
    LOOK_UP(next_aligned_alloc, "aligned_alloc");
    LOOK_UP(next_valloc, "valloc");
    LOOK_UP(next_pvalloc, "pvalloc");
    LOOK_UP(next_posix_memalign, "posix_memalign");
    LOOK_UP(next_free, "free");
    LOOK_UP(next_usable, "malloc_usable_size");
    LOOK_UP(next_malloc, "malloc");
    t_is_inside = false;
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void open_log(void) {
    char path[4096];
    int fd = -1;
    g_log = NULL;
    g_pid = getpid();
    if (!getenv("WITNESS_OUT")) return; /* perhaps the environment is not there yet */
    for (int n = 0; fd < 0 && n < 100; n++) {
        snprintf(path, sizeof path, "%s.%d.%d", getenv("WITNESS_OUT"), (int)g_pid, n);
        fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    /* The program may have given up the right to truncate. */
    if (fd < 0 || pwrite(fd, "", 1, (off_t)LOG_SIZE - 1) != 1) _exit(96);
    g_log = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (g_log == MAP_FAILED) _exit(95);
}

static void lock(void) {
    while (__atomic_exchange_n(&g_lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
}

static void unlock(void) { __atomic_store_n(&g_lock, 0, __ATOMIC_RELEASE); }

__attribute__((constructor)) static void survive_fork(void) {
    pthread_atfork(lock, unlock, unlock);
}

static _Unwind_Reason_Code collect(struct _Unwind_Context *context, void *argument) {
    struct call *call = argument;
    int is_interrupted = 0; /* then pc is no return address: one further, to look like one */
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_interrupted);
    bool is_ours = pc > (uintptr_t)&__ehdr_start && pc < (uintptr_t)&etext;
    if (!pc || call->frame_count == MAX_FRAMES) return _URC_END_OF_STACK;
    if (call->frame_count || !is_ours) t_frames[call->frame_count++] = pc + (is_interrupted != 0);
    return _URC_NO_REASON;
}

/* From here to leave() this thread is alone in the allocator. */
static void enter(struct call *call) {
    t_is_inside = true;
    _Unwind_Backtrace(collect, call);
    lock();
    if (!g_log || g_pid != getpid()) open_log();
    call->before = now();
}

static void leave(const struct call *call, void *result) {
    int kept = errno;
    if (g_log && (result || call->kind == FREE)) {
        uint64_t *at = g_log + 1 + g_log[0];
        at[0] = call->kind | call->frame_count << 8 | (uint64_t)gettid() << 32;
        at[1] = call->old;
        at[2] = (uint64_t)result;
        at[3] = call->size;
        at[4] = next_usable(result);
        at[5] = call->before;
        at[6] = now();
        memcpy(at + 7, t_frames, call->frame_count * 8);
        __atomic_store_n(&g_log[0], g_log[0] + 7 + call->frame_count, __ATOMIC_RELEASE);
    }
    unlock();
    t_is_inside = false;
    errno = kept;
}

/* Calls we make ourselves, or the next allocator makes while it serves one, pass unseen. */
static bool is_watched(void) {
    if (t_is_inside) return false;
    if (!next_malloc) look_up();
    return true;
}

#define WATCH(kind_, old_, size_, expression)                                       \
    do {                                                                            \
        struct call call = {.kind = kind_, .old = (uint64_t)(old_), .size = size_}; \
        int kept = errno;                                                           \
        enter(&call);                                                               \
        errno = kept;                                                               \
        result = expression;                                                        \
        leave(&call, result);                                                       \
    } while (0)

#define HOOK(linkage, signature, early_size, next_call, kind, old, size)       \
    linkage void *signature {                                                  \
        void *result;                                                          \
        if (!is_watched()) return next_malloc ? next_call : early(early_size); \
        WATCH(kind, old, size, next_call);                                     \
        return result;                                                         \
    }

HOOK(EXPORT, malloc(size_t n), n, next_malloc(n), ALLOCATE, 0, n)
HOOK(EXPORT, calloc(size_t n, size_t s), n *s, next_calloc(n, s), ALLOCATE, 0, n *s)
HOOK(EXPORT, memalign(size_t a, size_t n), n, next_memalign(a, n), ALLOCATE, 0, n)
HOOK(EXPORT, aligned_alloc(size_t a, size_t n), n, next_aligned_alloc(a, n), ALLOCATE, 0, n)
HOOK(EXPORT, valloc(size_t n), n, next_valloc(n), ALLOCATE, 0, n)
HOOK(EXPORT, pvalloc(size_t n), n, next_pvalloc(n), ALLOCATE, 0, n)
HOOK(static, realloc_some(void *p, size_t n), n, next_realloc(p, n), p ? RESIZE : ALLOCATE, p, n)
HOOK(EXPORT, reallocarray(void *p, size_t n, size_t s), n *s, next_reallocarray(p, n, s),
     p ? RESIZE : ALLOCATE, p, n *s)

/* In glibc, which alone is watched, resizing to nothing frees. */
EXPORT void *realloc(void *p, size_t n) {
    void *result;
    if (!is_watched() || !p || n) return realloc_some(p, n);
    WATCH(FREE, p, 0, next_realloc(p, 0));
    return result;
}

EXPORT void free(void *p) {
    void *result;
    if (!p || is_early(p)) return;
    if (!is_watched()) {
        next_free(p);
        return;
    }
    WATCH(FREE, p, 0, (next_free(p), NULL));
    (void)result;
}

EXPORT void cfree(void *p) { free(p); }
EXPORT void free_sized(void *p, size_t size) { free(p), (void)size; }
EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size) {
    free(p), (void)alignment, (void)size;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
    void *result = NULL;
    int code = 0;
    if (!is_watched()) return next_posix_memalign(out, alignment, size);
    WATCH(ALLOCATE, 0, size, (code = next_posix_memalign(out, alignment, size)) ? NULL : *out);
    return code;
}
