/* The kernel's door: what is asked of it comes back as promised, and errno is left alone. */
#define _GNU_SOURCE
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static uint64_t *g_wiped, *g_private;

static void look_after_fork(void *argument) {
    (void)argument;
    CHECK_EQUAL(*g_wiped, 0);
    *g_wiped = 5;
    CHECK(!hg_sys_readable((uintptr_t)g_private));
}

static void memory_over_fork(void) {
    g_wiped = hg_sys_map_wiped(HG_PAGE);
    g_private = hg_sys_map_private(HG_PAGE);
    CHECK(g_wiped && g_private);
    CHECK_EQUAL(*g_wiped + *g_private, 0);
    *g_wiped = 3;
    *g_private = 4;
    CHECK_EQUAL(run_process(look_after_fork, NULL), 0);
    CHECK_EQUAL(*g_wiped, 3);
    CHECK_EQUAL(*g_private, 4);
    hg_sys_unmap(g_wiped, HG_PAGE);
    hg_sys_unmap(g_private, HG_PAGE);
}

/* Only what was touched is counted, and only while it is mapped. */
static void counted_memory(void) {
    enum { PAGES = 400 };
    hg_sys_start_maps();
    uint8_t *first = hg_sys_map_private(PAGES * HG_PAGE), *second = hg_sys_map_wiped(HG_PAGE + 1);
    CHECK_EQUAL(hg_sys_private_bytes(), 0);
    for (uint32_t i = 0; i < PAGES; i += 4) first[i * HG_PAGE] = 1;
    CHECK_EQUAL(hg_sys_private_bytes(), PAGES / 4 * HG_PAGE);
    second[HG_PAGE] = 1;
    CHECK_EQUAL(hg_sys_private_bytes(), (PAGES / 4 + 1) * HG_PAGE);
    hg_sys_unmap(first, PAGES * HG_PAGE);
    CHECK_EQUAL(hg_sys_private_bytes(), HG_PAGE);
    hg_sys_start_maps();
    CHECK_EQUAL(hg_sys_private_bytes(), 0);
    hg_sys_unmap(second, HG_PAGE + 1);
}

/* Pieces of one map and maps of their own look alike: zeroed, apart, and zeroed again. */
static void pieces(void) {
    enum { COUNT = 100, PAGES = 30 }; /* more than are mapped at once */
    uint64_t *memory[COUNT];
    hg_sys_start_maps();
    for (uint32_t i = 0; i < COUNT; i++) {
        memory[i] = hg_sys_map_private(PAGES * HG_PAGE - i);
        for (uint32_t page = 0; page < PAGES; page++) {
            uint64_t *word = memory[i] + page * HG_PAGE / sizeof *word;
            CHECK_EQUAL(*word, 0);
            *word = i * PAGES + page + 1;
        }
    }
    CHECK_EQUAL(hg_sys_private_bytes(), COUNT * PAGES * HG_PAGE);
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQUAL(memory[i][(PAGES - 1) * HG_PAGE / sizeof **memory], (i + 1) * PAGES);
        hg_sys_unmap(memory[i], PAGES * HG_PAGE - i);
    }
    CHECK_EQUAL(hg_sys_private_bytes(), 0);
    hg_sys_start_maps();
    uint64_t *first = hg_sys_map_private(HG_PAGE);
    *first = 1;
    hg_sys_unmap(first, HG_PAGE);
    uint64_t *again = hg_sys_map_private(HG_PAGE);
    CHECK(again == first); /* the last piece returned is the next one given */
    CHECK_EQUAL(*again, 0);
}

static volatile sig_atomic_t g_signals;
static void count_signal(int number) {
    (void)number;
    g_signals++;
}

static void held_back_signals(void) {
    sigset_t blocked, after;
    signal(SIGUSR1, count_signal);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, &blocked, NULL), 0);
    uint64_t before = hg_sys_block_signals();
    raise(SIGUSR1);
    CHECK_EQUAL(g_signals, 0);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, NULL, &after), 0);
    CHECK(!sigismember(&after, SIGSEGV) && !sigismember(&after, SIGBUS));
    hg_sys_restore_signals(before);
    CHECK_EQUAL(g_signals, 1);
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, NULL, &after), 0);
    CHECK(sigismember(&after, SIGUSR2) && !sigismember(&after, SIGUSR1));
    sigemptyset(&blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void mapped_file(void) {
    int fd = hg_sys_open(test_path("mapped"), O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK_EQUAL(hg_sys_truncate_fd(fd, 4 * HG_STEP), 0);
    for (uint64_t alignment = HG_PAGE; alignment <= 64 * HG_STEP; alignment *= 2) {
        uint8_t *p = hg_sys_map_file(fd, 4 * HG_STEP, alignment);
        CHECK(p && (uintptr_t)p % alignment == 0);
        CHECK_EQUAL(hg_sys_populate(p, HG_PAGE), 0);
        p[0] = 1;
        p[4 * HG_STEP - 1] = 2; /* the whole of it is there */
        munmap(p, 4 * HG_STEP);
    }
    CHECK_EQUAL(hg_sys_close(fd), 0);
    CHECK_EQUAL(hg_sys_close(fd), -EBADF);
}

static void readable(void) {
    uint8_t *pages =
        mmap(NULL, 3 * HG_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK_EQUAL(mprotect(pages + HG_PAGE, HG_PAGE, PROT_NONE), 0);
    CHECK(hg_sys_readable((uintptr_t)pages));
    CHECK(hg_sys_readable((uintptr_t)pages + HG_PAGE - 8));
    CHECK(!hg_sys_readable((uintptr_t)pages + HG_PAGE - 4)); /* half of it is not */
    CHECK(!hg_sys_readable((uintptr_t)pages + HG_PAGE));
    CHECK(hg_sys_readable((uintptr_t)pages + 2 * HG_PAGE));
    CHECK(!hg_sys_readable(0));
    CHECK(!hg_sys_readable(8));
    CHECK(!hg_sys_readable(UINTPTR_MAX - 7));
    CHECK(!hg_sys_readable(UINT64_C(0x8000000000000000)));
    munmap(pages, 3 * HG_PAGE);
    CHECK(!hg_sys_readable((uintptr_t)pages));
    /* The question has no effect on the signal mask it pretends to set. */
    sigset_t mask;
    CHECK_EQUAL(sigprocmask(SIG_SETMASK, NULL, &mask), 0);
    for (int s = 1; s < 32; s++) CHECK(!sigismember(&mask, s));
}

static uint32_t g_other_tid;
static void note_tid(void *argument, uint32_t number) {
    (void)argument, (void)number;
    g_other_tid = hg_sys_tid();
    CHECK(hg_sys_thread_alive(hg_sys_pid(), g_other_tid));
}

static void threads(void) {
    char name[16] = "";
    CHECK_EQUAL(hg_sys_pid(), getpid());
    CHECK_EQUAL(hg_sys_tid(), getpid());
    CHECK_EQUAL(hg_sys_parent_pid(), getppid());
    CHECK_EQUAL(hg_sys_uid(), getuid());
    run_threads(1, note_tid, NULL);
    CHECK(g_other_tid != hg_sys_tid());
    for (uint32_t i = 0; i < 1000 && hg_sys_thread_alive(hg_sys_pid(), g_other_tid); i++) {
        usleep(1000); /* joined is a little earlier than gone */
    }
    CHECK(!hg_sys_thread_alive(hg_sys_pid(), g_other_tid));
    CHECK(hg_sys_thread_alive(hg_sys_pid(), hg_sys_tid()));
    CHECK_EQUAL(prctl(PR_SET_NAME, "fifteen-letters"), 0);
    hg_sys_thread_name(name);
    CHECK_TEXT(name, "fifteen-letters");
}

static void limits(void) {
    struct rlimit files, changed;
    CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &files), 0);
    CHECK_EQUAL(hg_sys_limit(RLIMIT_NOFILE), files.rlim_cur);
    changed = files;
    changed.rlim_cur = files.rlim_cur / 2;
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &changed), 0);
    CHECK_EQUAL(hg_sys_limit(RLIMIT_NOFILE), files.rlim_cur / 2);
    CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &files), 0);
    struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
    if (setrlimit(RLIMIT_CPU, &core) == 0) CHECK_EQUAL(hg_sys_limit(RLIMIT_CPU), UINT64_MAX);
}

static void names(void) {
    char host[65] = "", wanted[65] = "", cwd[4096], wanted_cwd[4096], link[4096];
    hg_sys_host_name(host, sizeof host);
    CHECK_EQUAL(gethostname(wanted, sizeof wanted), 0);
    CHECK_TEXT(host, wanted);
    CHECK(getcwd(wanted_cwd, sizeof wanted_cwd) != NULL);
    CHECK_EQUAL(hg_sys_getcwd(cwd, sizeof cwd), strlen(wanted_cwd) + 1);
    CHECK_TEXT(cwd, wanted_cwd);
    CHECK_EQUAL(hg_sys_getcwd(cwd, 1), -ERANGE);
    CHECK(hg_sys_readlink("/proc/self/exe", link, sizeof link) > 0);
    CHECK_EQUAL(hg_sys_readlink("/no/such/link", link, sizeof link), -ENOENT);
}

static void say_long(void *argument) {
    (void)argument;
    char part[900];
    memset(part, 'x', sizeof part - 1);
    part[sizeof part - 1] = 0;
    HG_SAY(part, part, part);
}

static void say_short(void *argument) {
    (void)argument;
    HG_SAY("one", "", " two");
}

static void messages(void) {
    CHECK_TEXT(catch_stderr(say_short, NULL), "heapglass: one two\n");
    const char *said = catch_stderr(say_long, NULL);
    CHECK_EQUAL(strlen(said), 1024);
    CHECK_EQUAL(said[1023], '\n');
}

/* Whatever fails, the program's errno is its own. */
static void errno_is_untouched(void) {
    struct stat out;
    errno = 4242;
    CHECK_EQUAL(hg_sys_open("/no/such/file", O_RDONLY, 0), -ENOENT);
    CHECK_EQUAL(hg_sys_stat("/no/such/file", &out), -ENOENT);
    CHECK_EQUAL(hg_sys_unlink("/no/such/file"), -ENOENT);
    CHECK_EQUAL(hg_sys_truncate_fd(-1, 0), -EBADF);
    CHECK(hg_sys_populate((void *)HG_PAGE, HG_PAGE) < 0);
    CHECK(!hg_sys_readable(8));
    CHECK(hg_sys_map_private((size_t)1 << 60) == NULL);
    CHECK(hg_sys_map_file(-1, HG_STEP, HG_STEP) == NULL);
    hg_sys_yield();
    CHECK_EQUAL(errno, 4242);
}

int main(void) {
    RUN(memory_over_fork);
    RUN(counted_memory);
    RUN(pieces);
    RUN(mapped_file);
    RUN(readable);
    RUN(held_back_signals);
    RUN(threads);
    RUN(limits);
    RUN(names);
    RUN(messages);
    RUN(errno_is_untouched);
    return 0;
}
