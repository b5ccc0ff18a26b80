#define _GNU_SOURCE
#include "service.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>

#include "clock.h"
#include "damage.h"
#include "rights.h"
#include "sys.h"
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
#define END_STEP_NS 20000u
#define MOST_END_STEPS 20000u /* a second and more */
/* Wakes the thread, which holds it back and is told by a descriptor. Nobody sends this one to a process. */
#define WAKE_SIGNAL SIGSTKFLT

enum stay { STAYS, IS_ASKED_TO_END, ENDS };

static struct {
    struct hg_job *wanted[HG_SERVICE_MAX_JOBS];
    uint32_t count;
    uint32_t tid;     /* zero again when the thread has ended */
    uint32_t is_open; /* the thread has let go of the program's descriptors, and has its own */
    uint32_t pid;
    uint32_t stay;   /* enum stay */
    uint32_t ending; /* the tid of one that was told to end */
    uint8_t *top, *block;
} g_service;

bool hg_service_is_me(void) { return hg_load(&g_service.tid) == hg_sys_tid(); }

uint64_t hg_service_now(void) { return hg_clock_precise(); }

/* A file of /proc about the descriptor, of the thread that ours acts for. */
static int open_about(const char *directory, int fd, int flags) {
    char name[32], number[24];
    struct hg_text text = {name, sizeof name, 0};
    hg_text_put(&text, directory);
    hg_text_put(&text, hg_text_decimal(number, (uint64_t)fd));
    hg_text_end(&text);
    return hg_rights_open(name, flags);
}

/* Whether all that is written through it goes to its end: flags are told in octal. */
static bool is_appending(int fd) {
    char told[128];
    int info = open_about("fdinfo/", fd, O_RDONLY | O_CLOEXEC);
    long length = info < 0 ? 0 : hg_sys_read(info, told, sizeof told - 1);
    if (info >= 0) hg_sys_close(info);
    told[length > 0 ? length : 0] = 0;
    const char *at = hg_text_find(told, "flags:");
    uint32_t flags = 0;
    for (at = at ? at + sizeof "flags:" : ""; *at >= '0' && *at <= '7'; at++)
        flags = flags * 8 + (uint32_t)(*at - '0');
    return flags & O_APPEND;
}

/* Opened again a file has a place of its own to be written at: the program would write over what we wrote, and we over
 * its, unless both write at the end. */
static int open_again(int fd) {
    struct stat stat;
    int again = open_about("fd/", fd, O_WRONLY | O_APPEND | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (again < 0 || (hg_sys_stat_fd(again, &stat) >= 0 && !S_ISREG(stat.st_mode))) return again;
    if (is_appending(fd)) return again;
    hg_sys_close(again);
    return -1; /* EPERM */
}

static int borrow(int fd) {
    uint32_t tid = hg_rights_thread();
    int owner = hg_sys_open_thread(g_service.pid, tid);
    int borrowed = owner < 0 ? owner : hg_sys_borrow(owner, fd);
    if (owner >= 0) hg_sys_close(owner);
    return borrowed >= 0 || borrowed == -9 /* EBADF */ ? borrowed : open_again(fd);
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

/* What wakes the thread, then all jobs' descriptors one after the other. */
static struct pollfd g_polled[1 + HG_SERVICE_MAX_POLLED];

/* Their number. */
static uint32_t gather(void) {
    uint32_t count = 1;
    for (uint32_t i = 0; i < g_service.count; i++) {
        const struct hg_job *job = g_service.wanted[i];
        for (uint32_t j = 0; j < job->polled_count && count <= HG_SERVICE_MAX_POLLED; j++) {
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
    uint32_t at = 1;
    for (uint32_t i = 0; i < g_service.count; i++) {
        struct hg_job *job = g_service.wanted[i];
        bool has_events = false;
        for (uint32_t j = 0; j < job->polled_count && at <= HG_SERVICE_MAX_POLLED; j++, at++) {
            job->polled[j].revents = g_polled[at].revents;
            has_events |= g_polled[at].revents != 0;
        }
        if (has_events || now >= job->due) job->run(now);
    }
}

static bool must_end(void) {
    uint32_t asked = IS_ASKED_TO_END;
    /* Whoever sends the signal for other reasons wakes us once. */
    if (g_polled[0].revents) g_polled[0].fd = -1;
    return hg_swap(&g_service.stay, &asked, ENDS);
}

static void open_jobs(void) {
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->open) g_service.wanted[i]->open();
    }
    hg_store_release(&g_service.is_open, 1);
}

static void close_jobs(void) {
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->close) g_service.wanted[i]->close();
    }
}

static void wait_for_events(void) {
    uint64_t now = hg_service_now(), wake = next_wake(now);
    uint32_t count = gather();
    if (hg_sys_poll(g_polled, count, wake > now ? wake - now : 0) >= 0) return;
    for (uint32_t i = 0; i < count; i++) g_polled[i].revents = 0;
    hg_sys_sleep(AWAIT_STEP_NS); /* fewer descriptors allowed than there are: no haste */
}

/* Returns what it ends with: the last thread's status is the process's. */
static int serve(void) {
    hg_sys_close_all();
    /* The file may be cut short: see bus.h. */
    hg_sys_restore_signals(~(UINT64_C(1) << (SIGBUS - 1)));
    hg_sys_set_thread_name("heapglass");
    if (!hg_rights_start() || !hg_rights_follow()) return hg_rights_status();
    g_polled[0] = (struct pollfd){.fd = hg_sys_signal_descriptor(WAKE_SIGNAL), .events = POLLIN};
    open_jobs();
    for (;;) {
        wait_for_events();
        if (!hg_rights_follow()) return hg_rights_status();
        if (must_end()) break;
        if (hg_load(&g_header)) hg_damage_check();
        run_jobs(hg_service_now());
    }
    close_jobs();
    return 0;
}

/* ---- its start ------------------------------------------------------------------------------ */

/* The memory of the thread, from below: a page that nothing may touch, the stack, the thread-local
 * words of all objects loaded at start, of which it needs our own, and what libc keeps above. */
static bool make_block(void) {
    uintptr_t below = hg_thread_pointer() - (uintptr_t)&tls_thread;
    size_t words = (below + HG_PAGE - 1) / HG_PAGE * HG_PAGE;
    uint8_t *memory = hg_sys_map_private(HG_PAGE + STACK_BYTES + words + BLOCK_BYTES);
    if (!memory) return false;
    hg_sys_guard(memory, HG_PAGE);
    g_service.top = memory + HG_PAGE + STACK_BYTES;
    g_service.block = g_service.top + words;
    struct hg_thread_block made = hg_thread_block_like_mine(g_service.block);
    *(struct hg_thread_block *)g_service.block = made;
    return true;
}

static long start_thread(void) {
    const unsigned long flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                                CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    if (!g_service.block && !make_block()) return -12; /* ENOMEM */
    uint64_t signals = hg_sys_block_all_signals();
    long tid = hg_thread_clone(flags, g_service.top, &g_service.tid, g_service.block, serve);
    hg_sys_restore_signals(signals);
    return tid;
}

static bool is_opening(void) {
    return !hg_load_acquire(&g_service.is_open) && hg_load_acquire(&g_service.tid);
}

/* Until it is open the program's descriptors are open twice, and a pipe it closes stays open. */
static bool begin(void) {
    if (start_thread() < 0) return false;
    for (uint32_t i = 0; i < WAIT_FOR_FIRST_STEPS && is_opening(); i++) hg_sys_yield();
    return true;
}

void hg_service_start(struct hg_job *const *jobs) {
    __builtin_memset(&g_service, 0, sizeof g_service);
    for (; *jobs && g_service.count < HG_SERVICE_MAX_JOBS; jobs++) {
        if ((*jobs)->start()) g_service.wanted[g_service.count++] = *jobs;
    }
    if (!g_service.count) return;
    g_service.pid = hg_sys_pid();
    if (!begin()) {
        HG_SAY(
            "the kernel refuses a thread; there will be no socket and no reports, "
            "and a log costs more");
        return;
    }
    for (uint32_t i = 0; i < g_service.count; i++) {
        if (g_service.wanted[i]->say) g_service.wanted[i]->say();
    }
}

/* ---- without it for a while ----------------------------------------------------------------- */

/* Whether the kernel has forgotten the thread: it clears the tid before. */
static bool await_end(void) {
    for (uint32_t i = 0; i < MOST_END_STEPS; i++) {
        if (!hg_sys_thread_alive(g_service.pid, g_service.ending)) {
            hg_sys_await_bookkeeping();
            return true;
        }
        hg_sys_sleep(END_STEP_NS);
    }
    return false;
}

bool hg_service_pause(void) {
    uint32_t stays = STAYS, asked = IS_ASKED_TO_END, tid = hg_load_acquire(&g_service.tid);
    if (!tid || g_service.pid != hg_sys_pid() || !hg_swap(&g_service.stay, &stays, asked))
        return false;
    g_service.ending = tid;
    hg_sys_send_signal(g_service.pid, tid, WAKE_SIGNAL);
    if (await_end() || !hg_swap(&g_service.stay, &asked, STAYS)) return true;
    return false; /* it does something that takes long, and goes on */
}

bool hg_service_resume(void) {
    if (hg_sys_thread_alive(g_service.pid, g_service.ending) && !await_end()) return false;
    g_service.is_open = 0;
    hg_store_release(&g_service.stay, STAYS);
    return begin() && hg_load_acquire(&g_service.tid);
}
