/* A test's own malloc: walks at every allocation of a real program, compares with backtrace(), and
 * measures. Preloaded by tests/run_unwind.sh; no part of heapglass.
 *
 * Appends one line per process to the file named by UNWIND_REPORT. UNWIND_TIME=1 leaves backtrace()
 * out and only measures. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "modules.h"
#include "sys.h"
#include "walk.h"

#define LIMIT 512u
#define OWN_FRAMES 8
#define INTERRUPTED 50000u /* cycles: no walk takes so long by itself */
#define EXPORT __attribute__((visibility("default")))

struct thread {
    struct hg_walker walker;
    void *reference[LIMIT + OWN_FRAMES];
    bool inside;
};

struct totals {
    uint64_t walks, frames, mismatches, extensions, ends[8];
    uint64_t timed_walks, timed_frames, cycles; /* without those another process interrupted */
};

static __thread struct thread *tls_thread __attribute__((tls_model("initial-exec")));
static __thread bool tls_starting __attribute__((tls_model("initial-exec")));
static struct totals g_totals;
static bool g_ready, g_time_only;
static char g_detail[4000];
static size_t g_detail_length;
static uint32_t g_module_count, g_retired_count;
static uint64_t g_start_cycles;
static struct timespec g_start_time;

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);

uint32_t hg_recording_add_module(const struct hg_module *module, const char *path) {
    (void)module, (void)path;
    return __atomic_fetch_add(&g_module_count, 1, __ATOMIC_RELAXED);
}
void hg_light_loaded(const void *records) { (void)records; }
void hg_light_unloaded(const void *records) { (void)records; }
void hg_recording_retire_module(uint32_t index, uint32_t node_end) {
    (void)index, (void)node_end;
    g_retired_count++;
}
void hg_stacks_retire(uintptr_t start, uintptr_t end) { (void)start, (void)end; }
uint32_t hg_stacks_nodes(void) { return 0; }

static void add(uint64_t *counter, uint64_t value) {
    __atomic_fetch_add(counter, value, __ATOMIC_RELAXED);
}

static bool same_frame(const uintptr_t *frames, uint32_t i, uintptr_t reference) {
    static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    bool interrupted = i > 0 && memcmp((void *)frames[i - 1], sigreturn, sizeof sigreturn) == 0;
    return frames[i] == reference + interrupted;
}

static void note_mismatch(const struct hg_walker *w, void *const *reference, uint32_t count) {
    if (g_detail_length > sizeof g_detail - 600) return;
    uint32_t at = 0;
    while (at < w->depth && at < count && same_frame(w->frames, at, (uintptr_t)reference[at])) at++;
    const struct hg_code *code = at ? hg_modules_find(w->frames[at - 1]) : NULL;
    Dl_info info = {0};
    if (at) dladdr((void *)w->frames[at - 1], &info);
    g_detail_length += (size_t)snprintf(
        g_detail + g_detail_length, sizeof g_detail - g_detail_length,
        "  differs at %u of %u/%u, end %u, after %s+%lx: %lx, reference %lx\n", at, w->depth, count,
        w->end, info.dli_fname ? info.dli_fname : "?",
        at && code ? w->frames[at - 1] - code->bias : 0, at < w->depth ? w->frames[at] : 0,
        at < count ? (unsigned long)reference[at] : 0);
}

static void compare(struct thread *t, uintptr_t pc) {
    int found = backtrace(t->reference, LIMIT + OWN_FRAMES), skip = 0;
    while (skip < found && (uintptr_t)t->reference[skip] != pc) skip++;
    uint32_t count = (uint32_t)(found - skip), depth = t->walker.depth;
    uint32_t both = count < depth ? count : depth;
    bool same = count <= depth || depth == LIMIT;
    for (uint32_t i = 0; same && i < both; i++) {
        same = same_frame(t->walker.frames, i, (uintptr_t)t->reference[skip + (int)i]);
    }
    add(&g_totals.mismatches, !same);
    add(&g_totals.extensions, same && depth > count && found < (int)(LIMIT + OWN_FRAMES));
    if (!same) note_mismatch(&t->walker, t->reference + skip, count);
}

static void observe(const struct hg_caller *caller) {
    struct thread *t = tls_thread;
    if (!t && !tls_starting) {
        tls_starting = true;
        t = tls_thread = hg_sys_map_private(sizeof *t);
        tls_starting = false;
    }
    if (!t || t->inside) return;
    t->inside = true;
    uint64_t before = __rdtsc();
    hg_walk(&t->walker, caller, LIMIT);
    uint64_t passed = __rdtsc() - before;
    if (passed < INTERRUPTED) {
        add(&g_totals.cycles, passed);
        add(&g_totals.timed_walks, 1);
        add(&g_totals.timed_frames, t->walker.depth);
    }
    add(&g_totals.walks, 1);
    add(&g_totals.frames, t->walker.depth);
    add(&g_totals.ends[t->walker.end], 1);
    if (!g_time_only) compare(t, caller->pc);
    t->inside = false;
}

#define CALLER()                                                             \
    (struct hg_caller) {                                                     \
        .pc = ((uintptr_t *)__builtin_frame_address(0))[1],                  \
        .sp = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t), \
        .bp = ((uintptr_t *)__builtin_frame_address(0))[0],                  \
    }

EXPORT void *malloc(size_t size) {
    struct hg_caller caller = CALLER();
    if (g_ready) observe(&caller);
    return __libc_malloc(size);
}

EXPORT void free(void *block) {
    struct hg_caller caller = CALLER();
    if (g_ready && hg_modules_is_loader(caller.pc)) hg_modules_check_unloaded();
    __libc_free(block);
}

static void start(void) {
    memset(&g_totals, 0, sizeof g_totals);
    g_detail_length = 0;
    tls_thread = NULL;
    g_start_cycles = __rdtsc();
    clock_gettime(CLOCK_MONOTONIC, &g_start_time);
    g_ready = hg_modules_start() && hg_walk_start();
}

static void in_child(void) {
    g_ready = false;
    start();
}

__attribute__((constructor)) static void load(void) {
    void *warm[4];
    g_time_only = getenv("UNWIND_TIME") != NULL;
    if (!g_time_only) backtrace(warm, 4);
    pthread_atfork(NULL, NULL, in_child);
    start();
}

static double ns_per_cycle(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double ns = (double)(now.tv_sec - g_start_time.tv_sec) * 1e9 +
                (double)(now.tv_nsec - g_start_time.tv_nsec);
    return ns / (double)(__rdtsc() - g_start_cycles);
}

__attribute__((destructor)) static void unload(void) {
    g_ready = false;
    const char *path = getenv("UNWIND_REPORT");
    int fd = path && g_totals.walks ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    if (fd < 0) return;
    uint64_t least = UINT64_MAX; /* what reading the clock alone costs */
    for (int i = 0; i < 1000; i++) {
        uint64_t before = __rdtsc(), passed = __rdtsc() - before;
        if (passed < least) least = passed;
    }
    struct totals *t = &g_totals;
    double ns = ((double)t->cycles - (double)(least * t->timed_walks)) * ns_per_cycle();
    static const struct hg_walker nobodys;
    const struct hg_walker *walker = tls_thread ? &tls_thread->walker : &nobodys;
    const uint64_t *stats = walker->stats;
    dprintf(fd,
            "%s walks %lu frames %lu mismatches %lu extensions %lu ns/frame %.2f ends %lu %lu %lu "
            "%lu %lu "
            "misses %lu foreign %lu slow %lu modules %u retired %u\n%.*s",
            program_invocation_short_name, t->walks, t->frames, t->mismatches, t->extensions,
            ns / (double)t->timed_frames, t->ends[0], t->ends[1], t->ends[2], t->ends[3],
            t->ends[4], walker->parser.parsed, stats[HG_STAT_FOREIGN_WALKS],
            stats[HG_STAT_SLOW_WALKS], g_module_count, g_retired_count, (int)g_detail_length,
            g_detail);
    close(fd);
}
