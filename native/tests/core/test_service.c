/* The service thread: it does what is due, lets go of the program's descriptors, is not known to
 * libc, takes no signal, and has the main thread's rights. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "service.h"
#include "sys.h"
#include "test.h"
#include "text.h"

#define ENOUGH_MS 20000

extern char __libc_single_threaded __attribute__((weak)); /* from glibc 2.32 on */

static struct {
    uint32_t runs;
    uint32_t tid;
    int write_to; /* a descriptor of the program's that the job shall borrow; -1: none */
    long written;
} g_seen;

static struct hg_job g_job;

static bool job_start(void) {
    g_job.due = hg_service_now();
    return true;
}

static void job_run(uint64_t now) {
    g_job.due = now + 1000000;
    hg_store(&g_seen.tid, hg_sys_tid());
    if (g_seen.write_to >= 0) {
        int fd = hg_service_borrow(g_seen.write_to);
        hg_store(&g_seen.written, fd < 0 ? fd : hg_sys_write(fd, "x", 1));
        if (fd >= 0) hg_sys_close(fd);
    }
    hg_add_shared(&g_seen.runs, 1);
}

static struct hg_job g_job = {.start = job_start, .run = job_run, .due = UINT64_MAX};

static void start(int write_to) {
    static struct hg_job *const jobs[] = {&g_job, NULL};
    g_seen.write_to = write_to;
    hg_store(&g_seen.runs, 0);
    hg_clock_find();
    hg_sys_start_maps();
    hg_service_start(jobs);
}

static void await_runs(uint32_t more) {
    uint32_t wanted = hg_load(&g_seen.runs) + more;
    for (int i = 0; i < ENOUGH_MS && hg_load(&g_seen.runs) < wanted; i++) usleep(1000);
    CHECK(hg_load(&g_seen.runs) >= wanted);
}

/* A line of the thread's status; `line` is valid until the next call. */
static const char *status_of(uint32_t tid, const char *name) {
    static char line[4096];
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/status", tid);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) && strncmp(line, name, strlen(name)) != 0) continue;
    fclose(file);
    return line;
}

static void runs_again_and_again(void *unused) {
    (void)unused;
    start(-1);
    await_runs(10);
    CHECK(hg_load(&g_seen.tid) != (uint32_t)getpid());
    CHECK(!&__libc_single_threaded || __libc_single_threaded);
    CHECK(strstr(status_of(g_seen.tid, "Name"), "heapglass") != NULL);
    CHECK(strstr(status_of(g_seen.tid, "SigBlk"), "fffffffffffbfebf") != NULL);
}

static void closes_nothing_late(void *unused) {
    (void)unused;
    int ends[2];
    char byte;
    CHECK_EQUAL(pipe(ends), 0);
    start(-1);
    close(ends[1]);
    CHECK_EQUAL(read(ends[0], &byte, 1), 0); /* nobody else can write any more */
    CHECK_EQUAL(dup(ends[0]), ends[1]);      /* and the number is free */
}

static void writes_to_the_programs_file(void *unused) {
    (void)unused;
    int ends[2];
    char byte = 0;
    CHECK_EQUAL(pipe(ends), 0);
    start(ends[1]);
    await_runs(2);
    CHECK_EQUAL(g_seen.written, 1);
    CHECK_EQUAL(read(ends[0], &byte, 1), 1);
    CHECK_EQUAL(byte, 'x');
    close(ends[1]);
    await_runs(2);
    CHECK_EQUAL(hg_load(&g_seen.written), -9 /* EBADF */);
}

static volatile pid_t g_handled_by;
static void handle(int signal) {
    (void)signal;
    g_handled_by = gettid();
}

static void takes_no_signal(void *unused) {
    (void)unused;
    start(-1);
    await_runs(1);
    signal(SIGUSR1, handle);
    for (int i = 0; i < 100; i++) {
        g_handled_by = 0;
        kill(getpid(), SIGUSR1);
        for (int j = 0; j < ENOUGH_MS && !g_handled_by; j++) usleep(1000);
        CHECK_EQUAL(g_handled_by, getpid());
    }
}

static void is_gone_after_fork(void *unused) {
    (void)unused;
    start(-1);
    await_runs(1);
    pid_t child = fork();
    if (!child) {
        uint32_t before = hg_load(&g_seen.runs);
        usleep(20000);
        if (hg_load(&g_seen.runs) != before) _exit(2);
        start(-1); /* of its own */
        await_runs(2);
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
}

static void follows_the_main_thread(void *unused) {
    (void)unused;
    start(-1);
    await_runs(1);
    if (getuid() == 0) {
        gid_t groups[] = {4242, 77};
        CHECK_EQUAL(setgroups(2, groups), 0);
        CHECK_EQUAL(setresgid(1001, 1002, 1003), 0);
        CHECK_EQUAL(setresuid(1001, 1002, 1003), 0);
    }
    await_runs(5); /* the rights are looked at before each */
    static const char *const lines[] = {"Uid", "Gid", "Groups", "CapPrm", "CapEff"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char mine[4096];
        hg_text_copy(mine, sizeof mine, status_of((uint32_t)getpid(), lines[i]));
        CHECK_TEXT(status_of(g_seen.tid, lines[i]), mine);
    }
}

/* Each in a process of its own: the thread of the one before would go on. */
static void run_apart(const char *name, void (*test)(void *)) {
    test_begin(name);
    CHECK_EQUAL(run_process(test, NULL), 0);
}
#define RUN_APART(test) run_apart(#test, test)

int main(void) {
    RUN_APART(runs_again_and_again);
    RUN_APART(closes_nothing_late);
    RUN_APART(writes_to_the_programs_file);
    RUN_APART(takes_no_signal);
    RUN_APART(is_gone_after_fork);
    RUN_APART(follows_the_main_thread);
    return 0;
}
