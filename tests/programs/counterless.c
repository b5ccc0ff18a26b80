/* Gives up the processor's time-stamp counter, then allocates for a good second, by a clock that needs none.
 * Arguments: how (`prctl`, `syscall`; `strict`, `strict-syscall`, `strict-seccomp`: with all system calls but four;
 * `filter`: the system calls alone, all but a few, of which no clock is one), and who goes
 * on (`self`, or a forked `child`). After an exec nobody does: the C library's loader reads the counter.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "site.h"

#define LET(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

SITE void *site_there(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

static void confine(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET(SYS_write),
        LET(SYS_brk),
        LET(SYS_mmap),
        LET(SYS_munmap),
        LET(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void give_up(const char *how) {
    if (!strcmp(how, "prctl")) MUST(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    if (!strcmp(how, "syscall")) MUST(!syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV));
    if (!strcmp(how, "filter")) confine();
    if (!strcmp(how, "strict")) MUST(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    if (!strcmp(how, "strict-syscall"))
        MUST(!syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    if (!strcmp(how, "strict-seccomp"))
        MUST(!syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL));
}

static uint64_t coarse_ms(void) {
    struct timespec now;
    MUST(!clock_gettime(CLOCK_MONOTONIC_COARSE, &now));
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void work(void) {
    for (uint64_t until = coarse_ms() + 1100; coarse_ms() < until;) {
        for (size_t i = 1; i < 1000; i++) free(site_there(i));
    }
    say("done");
}

static int end_of(pid_t child) {
    int status;
    MUST(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? 100 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    /* malloc needs no more from the kernel */
    for (size_t i = 0; i < 1000; i++) free(site_there(i));
    give_up(argv[1]);
    pid_t child = strcmp(argv[2], "child") ? -1 : fork();
    if (child > 0) return end_of(child);
    work();
    if (!strncmp(argv[1], "strict", 6)) syscall(SYS_exit, 5); /* exit needs another call */
    return 5;
}
