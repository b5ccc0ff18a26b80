#define _GNU_SOURCE
#include "service.h"

#include <fcntl.h>
#include <sched.h>

#include "clock.h"
#include "rights.h"
#include "say.h"
#include "sys.h"
#include "sys_thread.h"
#include "text.h"
#include "thread.h"

#if defined(__x86_64__)
#include "service_x86_64.h"
#include "sys_x86_64.h"
#else
#error "heapglass: add service_<architecture>.h for this machine"
#endif

#define STACK_BYTES (256u << 10)
#define BLOCK_BYTES \
    (16u << 10) /* above the thread pointer: debuggers look for libc's words there */
#define SECOND UINT64_C(1000000000)
#define WAIT_FOR_FIRST_STEPS 100000u /* yields */
#define AWAIT_NS (SECOND / 5)
#define AWAIT_STEP_NS 1000000u

static struct {
    struct hg_job *wanted[HG_SERVICE_MAX_JOBS];
    uint32_t count;
    uint32_t tid;     /* zero again when the thread has ended */
    uint32_t is_open; /* the thread has let go of the program's descriptors, and has its own */
    uint32_t pid;
} g_service;

uint64_t hg_service_now(void) { return hg_clock_read(CLOCK_MONOTONIC); }

/* Of the thread that ours acts for. */
static int borrow(int fd) {
    uint32_t tid = hg_rights_thread();
    int owner = hg_sys_open_thread(g_service.pid, tid);
    int borrowed = owner < 0 ? owner : hg_sys_borrow(owner, fd);
    if (owner >= 0) hg_sys_close(owner);
    if (borrowed >= 0 || borrowed == -9 /* EBADF */) return borrowed;
    char name[32], number[24];
    struct hg_text text = {name, sizeof name, 0};
    hg_text_put(&text, "fd/");
    hg_text_put(&text, hg_text_decimal(number, (uint64_t)fd));
    hg_text_end(&text);
    return hg_rights_open(name, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int hg_service_borrow(int fd) {
    uint32_t owner = hg_rights_thread();
    int borrowed = borrow(fd);
    /* It is closed; or that thread has just ended, and has no descriptors any more. */
    bool is_other = borrowed < 0 && hg_rights_follow() && hg_rights_thread() != owner;
    return is_other ? borrow(fd) : borrowed;
}

void hg_service_await(const uint32_t *word) {
    uint64_t until = hg_service_now() + AWAIT_NS;
    while (hg_load_acquire(word) && hg_load_acquire(&g_service.tid) && hg_service_now() < until) {
        hg_sys_sleep(AWAIT_STEP_NS);
    }
}

/* ---- the thread ----------------------------------------------------------------------------- */

static struct pollfd g_polled[HG_SERVICE_MAX_POLLED];

/* All jobs' descriptors one after the other; their number. */
static uint32_t gather(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < g_service.count; i++) {
        const struct hg_job *job = g_service.wanted[i];
        for (uint32_t j = 0; j < job->polled_count && count < HG_SERVICE_MAX_POLLED; j++) {
            g_polled[count++] = job->polled[j];
        }
    }
    return count;
}

/* The earliest time at which something is due: in a second at the latest, for the rights' sake. */
static uint64_t next_wake(uint64_t now) {
    uint64_t due = now + SECOND;
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->due < due) due = g_service.wanted[i]->due;
    }
    return due;
}

/* Hand the events back, and run what is due or has some. */
static void run_jobs(uint64_t now) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < g_service.count; i++) {
        struct hg_job *job = g_service.wanted[i];
        bool has_events = false;
        for (uint32_t j = 0; j < job->polled_count && at < HG_SERVICE_MAX_POLLED; j++, at++) {
            job->polled[j].revents = g_polled[at].revents;
            has_events |= g_polled[at].revents != 0;
        }
        if (has_events || now >= job->due) job->run(now);
    }
}

/* Returns what it ends with: the last thread's status is the process's. */
static int serve(void) {
    hg_sys_close_all();
    hg_sys_set_thread_name("heapglass");
    if (!hg_rights_start() || !hg_rights_follow()) return hg_rights_status();
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->open) g_service.wanted[i]->open();
    }
    hg_store_release(&g_service.is_open, 1);
    for (;;) {
        uint64_t now = hg_service_now(), wake = next_wake(now);
        uint32_t count = gather();
        if (hg_sys_poll(g_polled, count, wake > now ? wake - now : 0) < 0) {
            for (uint32_t i = 0; i < count; i++) g_polled[i].revents = 0;
            hg_sys_sleep(AWAIT_STEP_NS); /* fewer descriptors allowed than there are: no haste */
        }
        if (!hg_rights_follow()) return hg_rights_status();
        run_jobs(hg_service_now());
    }
}

/* ---- its start ------------------------------------------------------------------------------ */

/* The memory of the thread, from below: a page that nothing may touch, the stack, the thread-local
 * words of all objects loaded at start, of which it needs our own, and what libc keeps above. */
static uint8_t *make_block(uint8_t **top) {
    uintptr_t below = hg_thread_pointer() - (uintptr_t)&tls_thread;
    size_t words = (below + HG_PAGE - 1) / HG_PAGE * HG_PAGE;
    uint8_t *memory = hg_sys_map_private(HG_PAGE + STACK_BYTES + words + BLOCK_BYTES);
    if (!memory) return NULL;
    hg_sys_guard(memory, HG_PAGE);
    *top = memory + HG_PAGE + STACK_BYTES;
    uint8_t *block = *top + words;
    *(struct hg_thread_block *)block = hg_thread_block_like_mine(block);
    return block;
}

static long start_thread(void) {
    const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                                CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    uint8_t *top, *block = make_block(&top);
    if (!block) return -12; /* ENOMEM */
    uint64_t signals = hg_sys_block_all_signals();
    long tid = hg_thread_clone(flags, top, &g_service.tid, block, serve);
    hg_sys_restore_signals(signals);
    return tid;
}

static bool is_opening(void) {
    return !hg_load_acquire(&g_service.is_open) && hg_load_acquire(&g_service.tid);
}

void hg_service_start(struct hg_job *const *jobs) {
    __builtin_memset(&g_service, 0, sizeof g_service);
    for (; *jobs && g_service.count < HG_SERVICE_MAX_JOBS; jobs++) {
        if ((*jobs)->start()) g_service.wanted[g_service.count++] = *jobs;
    }
    if (!g_service.count) return;
    g_service.pid = hg_sys_pid();
    if (start_thread() < 0) {
        HG_SAY(
            "the kernel refuses a thread; there will be no socket and no reports, "
            "and a log costs more");
        return;
    }
    /* Until then the program's descriptors are open twice, and a pipe it closes stays open. */
    for (uint32_t i = 0; i < WAIT_FOR_FIRST_STEPS && is_opening(); i++) hg_sys_yield();
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->say) g_service.wanted[i]->say();
    }
}
