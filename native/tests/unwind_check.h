/* Walks compared, frame by frame, with glibc's backtrace().
 *
 * Included once by each unwinder test: it also stands in for the recording and the call tree, which
 * the unwinder only reports to. Tests call no function the core hooks. */
#ifndef UNWIND_CHECK_H
#define UNWIND_CHECK_H

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "modules.h"
#include "walk.h"

#define MODULE_LIMIT 256u
#define REFERENCE_LIMIT 2048

static struct hg_module g_modules[MODULE_LIMIT];
static char g_module_paths[MODULE_LIMIT][256];
static uint32_t g_module_count, g_retired_modules, g_retired_ranges;
static uint64_t g_compared, g_extended, g_failures;
static __thread struct hg_walker tls_walker;

uint32_t hg_recording_add_module(const struct hg_module *module, const char *path) {
    uint32_t index = __atomic_fetch_add(&g_module_count, 1, __ATOMIC_RELAXED);
    if (index >= MODULE_LIMIT) return UINT32_MAX;
    g_modules[index] = *module;
    snprintf(g_module_paths[index], sizeof g_module_paths[index], "%s", path);
    return index;
}
void hg_light_loaded(const void *records) { (void)records; }
void hg_light_unloaded(const void *records) { (void)records; }
void hg_recording_retire_module(uint32_t index, uint32_t node_end) {
    g_modules[index].node_end = node_end;
    g_retired_modules++;
}
void hg_stacks_retire(uintptr_t start, uintptr_t end) {
    (void)start, (void)end;
    g_retired_ranges++;
}
uint32_t hg_stacks_nodes(void) { return 1000 + g_retired_modules; }

#define EXPECT(condition, ...)                                                    \
    do {                                                                          \
        if (!(condition)) {                                                       \
            if (__atomic_fetch_add(&g_failures, 1, __ATOMIC_RELAXED) > 20) break; \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition);       \
            fprintf(stderr, __VA_ARGS__);                                         \
            fputc('\n', stderr);                                                  \
        }                                                                         \
    } while (0)

#define CALLER_OF_THIS_FUNCTION()                                            \
    (struct hg_caller) {                                                     \
        .pc = ((uintptr_t *)__builtin_frame_address(0))[1],                  \
        .sp = (uintptr_t)__builtin_frame_address(0) + 2 * sizeof(uintptr_t), \
        .bp = ((uintptr_t *)__builtin_frame_address(0))[0],                  \
    }

static inline void start_unwinder(void) {
    void *warm[4];
    backtrace(warm, 4); /* loads libgcc_s now, not in a signal handler */
    if (!hg_modules_start() || !hg_walk_start()) {
        fprintf(stderr, "the unwinder did not start\n");
        exit(2);
    }
}

/* Of interrupted code the walk gives the byte after the pc, backtrace() the pc. */
static inline bool same_frame(const uintptr_t *frames, uint32_t i, uintptr_t reference) {
    static const uint8_t sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
    bool interrupted = i > 0 && memcmp((void *)frames[i - 1], sigreturn, sizeof sigreturn) == 0;
    return frames[i] == reference + interrupted;
}

static inline void print_walks(const struct hg_walker *walker, void *const *reference, int count) {
    for (uint32_t i = 0; i < walker->depth || (int)i < count; i++) {
        fprintf(stderr, "  %3u %16lx %16lx\n", i, i < walker->depth ? walker->frames[i] : 0,
                (int)i < count ? (unsigned long)reference[i] : 0);
    }
}

/* Walk from the caller of this function and compare; the walk must also end as `end` says. Where
 * backtrace() stops early only what it has is compared. */
static __attribute__((noinline, unused)) void check_end(const char *what, uint32_t end) {
    static __thread void *reference[REFERENCE_LIMIT];
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    hg_walk(&tls_walker, &caller, HG_MAX_DEPTH);
    int count = backtrace(reference, REFERENCE_LIMIT) - 1;
    bool same = (int)tls_walker.depth >= count;
    for (uint32_t i = 0; same && (int)i < count; i++) {
        same = same_frame(tls_walker.frames, i, (uintptr_t)reference[i + 1]);
    }
    __atomic_fetch_add(&g_compared, 1, __ATOMIC_RELAXED);
    if ((int)tls_walker.depth > count) __atomic_fetch_add(&g_extended, 1, __ATOMIC_RELAXED);
    bool right = same && tls_walker.end == end;
    EXPECT(right, "%s: depth %u (reference %d), end %u", what, tls_walker.depth, count,
           tls_walker.end);
    if (!right && g_failures < 5) print_walks(&tls_walker, reference + 1, count);
    __asm__ volatile(""); /* no tail call: the frame must stay */
}
static __attribute__((noinline, unused)) void check(const char *what) {
    check_end(what, 0);
    __asm__ volatile("");
}

/* A row that was found by going on from an earlier one: as it is from the start. */
static inline bool is_as_from_start(const struct hg_row *row, const struct hg_fde *fde,
                                    uintptr_t address) {
    struct hg_cfi_machine fresh;
    fresh.done = 0;
    const struct hg_row *anew = hg_cfi_row(&fresh, fde, address);
    if (!row || !anew) return row == anew;
    return row->cfa_value == anew->cfa_value && row->cfa_register == anew->cfa_register &&
           !memcmp(row->columns, anew->columns, sizeof row->columns);
}

/* End a forked child. Not _exit(): the core has a hook of that name, which would come along. */
static inline void leave_child(void) { syscall(SYS_exit_group, g_failures != 0); }

static inline int report(const char *name) {
    printf("%s: %lu walks compared, %lu went further than backtrace(), %lu failures\n", name,
           (unsigned long)g_compared, (unsigned long)g_extended, (unsigned long)g_failures);
    return g_failures != 0 || g_compared == 0;
}

#endif
