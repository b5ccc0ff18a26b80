/* The recorder never calls the allocator, stdio or a lock: such names are defined here, and calling
 * one while the recorder is at work fails the test. Built plain only: the sanitizers bring
 * their own malloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"
#include "options.h"
#include "peak.h"
#include "real.h"
#include "recorder.h"
#include "recording.h"
#include "scripted_walk.h"
#include "snapshots.h"
#include "test.h"
#include "text.h"

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static __thread bool tls_at_work;

static void forbid(const char *name) {
    if (!tls_at_work) return;
    tls_at_work = false;
    test_fail(__FILE__, __LINE__, "the recorder called %s()", name);
}

void *malloc(size_t size) { return forbid("malloc"), __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return forbid("calloc"), __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return forbid("realloc"), __libc_realloc(p, size); }
void free(void *p) { forbid("free"), __libc_free(p); }
void *memalign(size_t a, size_t size) { return forbid("memalign"), __libc_memalign(a, size); }
void *aligned_alloc(size_t a, size_t size) {
    return forbid("aligned_alloc"), __libc_memalign(a, size);
}
int posix_memalign(void **out, size_t a, size_t size) {
    forbid("posix_memalign");
    *out = __libc_memalign(a, size);
    return *out ? 0 : ENOMEM;
}

/* Names that libc has to go on serving for the test itself. */
#define FORBID(type, name, parameters, arguments)                      \
    type name parameters {                                             \
        static type(*real) parameters;                                 \
        forbid(#name);                                                 \
        if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
        return real arguments;                                         \
    }
FORBID(char *, getenv, (const char *name), (name))
FORBID(FILE *, fopen, (const char *path, const char *mode), (path, mode))
FORBID(int, fputs, (const char *text, FILE *file), (text, file))
FORBID(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *file), (p, size, n, file))
FORBID(int, vfprintf, (FILE * file, const char *format, va_list list), (file, format, list))
FORBID(int, vsnprintf, (char *to, size_t size, const char *format, va_list list),
       (to, size, format, list))
FORBID(int, pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex))
FORBID(int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))

/* Everything between is the recorder's work. */
#define WORK(call)           \
    do {                     \
        tls_at_work = true;  \
        call;                \
        tls_at_work = false; \
    } while (0)

static struct hg_thread *g_thread;

static void allocate(uintptr_t pc, uintptr_t address, size_t size) {
    struct hg_frame frame = script_frame(pc);
    WORK(g_thread = hg_recorder_enter(&frame, true);
         hg_recorder_allocated(g_thread, &frame, (void *)address, size);
         hg_recorder_leave(g_thread));
}

static void release(uintptr_t address) {
    struct hg_frame frame = script_frame(0x401000);
    WORK(g_thread = hg_recorder_enter(&frame, false);
         hg_recorder_freeing(g_thread, &frame, (void *)address); hg_recorder_leave(g_thread));
}

enum outcome { RESIZED, KEPT, FREED };

static void resize(uintptr_t from, uintptr_t to, size_t size, enum outcome outcome) {
    struct hg_frame frame = script_frame(0x402000);
    void *block = (void *)from;
    struct hg_taken taken;
    WORK(g_thread = hg_recorder_enter(&frame, true));
    WORK(taken = hg_recorder_take(g_thread, block));
    switch (outcome) {
    case KEPT: WORK(hg_recorder_kept(g_thread, block, &taken)); break;
    case FREED: WORK(hg_recorder_freed(g_thread, &frame, block, &taken)); break;
    case RESIZED: WORK(hg_recorder_resized(g_thread, &frame, block, &taken, (void *)to, size));
    }
    WORK(hg_recorder_leave(g_thread));
}

static uintptr_t address_of(uint32_t i) { return 0x10000000 + (uintptr_t)i * 4096; }

/* The interposition must be able to fail at all. */
static void call_malloc_at_work(void *argument) {
    (void)argument;
    fclose(stderr);                              /* what it says is not for the eyes */
    void *(*volatile allocate)(size_t) = malloc; /* or the compiler leaves it out */
    WORK(allocate(10));
}

static void notices(void) { CHECK_EQUAL(run_process(call_malloc_at_work, NULL), 1); }

/* New sites, new leaves, large blocks, histograms, snapshots by churn, thinning: all slow paths. */
static void every_event(void) {
    struct random r = random_start(400);
    g_options.churn_bytes = 1 << 16;
    begin_events(5);
    for (uint32_t i = 0; i < 60000; i++) {
        uint32_t place = (uint32_t)random_below(&r, 4000);
        uint64_t what = random_below(&r, 6), size = random_of_bits(&r, 24);
        if (what < 3) resize(address_of(place), address_of(place + 4000), size, (enum outcome)what);
        else if (what == 3) release(address_of(place));
        else allocate(0x401000 + random_below(&r, 20000), address_of(place), size);
    }
    WORK(hg_snapshots_take(g_thread, 1000000000000));
    CHECK(g_header->sites > 1000 && g_header->histograms > 100 && g_header->large_segments > 0);
    reset_options();
}

static void full_recording(void) {
    g_options.memory_budget = 1 << 20;
    begin_events(5);
    for (uint32_t i = 0; i < 5000; i++) allocate(0x401000 + i, address_of(i), i);
    for (uint32_t i = 0; i < 5000; i++) release(address_of(i));
    CHECK_EQUAL(g_header->ladder, HG_LADDER_DROPPING);
    reset_options();
}

static void attach_in_thread(void *argument, uint32_t number) {
    (void)argument, (void)number;
    forget_thread();
    WORK(CHECK(hg_threads_attach() != NULL));
}

static void threads_attach(void) {
    begin_events(5);
    for (uint32_t i = 0; i < 20; i++) run_threads(4, attach_in_thread, NULL);
}

/* The whole life of a process, from its first event to its last. */
static void live_and_die(void *argument) {
    (void)argument;
    setenv("HEAPGLASS_OUT", test_path("life.%p"), 1);
    setenv("HEAPGLASS_DEPTH", "nonsense", 1); /* so that something is said */
    hg_real_resolve();
    hg_say_there();
    struct hg_frame frame = script_frame(0x401000);
    struct hg_thread *thread;
    void *block = malloc(100);
    WORK(thread = hg_recorder_enter(&frame, true));
    CHECK(thread != NULL);
    WORK(hg_recorder_allocated(thread, &frame, block, 100); hg_recorder_leave(thread));
    WORK(hg_lifecycle_execing(); hg_lifecycle_exec_failed(); hg_lifecycle_exiting(0));
    CHECK_EQUAL(g_header->state, HG_STATE_EXITED);
}

static void live(void *argument) { CHECK_EQUAL(run_process(live_and_die, argument), 0); }

static void whole_life(void) {
    CHECK(strstr(catch_stderr(live, NULL), "HEAPGLASS_DEPTH=nonsense is not") != NULL);
}

int main(void) {
    reset_options();
    RUN(notices);
    RUN(every_event);
    RUN(full_recording);
    RUN(threads_attach);
    RUN(whole_life);
    return 0;
}
