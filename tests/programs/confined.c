/* Puts itself into a sandbox that kills for every system call but those it needs itself, and goes on.
 * Arguments: how (`prctl`, `seccomp`, `strict`), which calls more it lets pass (`no`, `madvise`), and how many
 * blocks it allocates in there.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "site.h"

#define LET(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

SITE void *site_before(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

SITE void *site_inside(void) {
    void *p = malloc(50);
    KEEP(p);
    return p;
}

static void enter(const char *how, int more) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        LET(SYS_write),
        LET(SYS_brk),
        LET(SYS_mmap),
        LET(SYS_munmap),
        LET(SYS_futex),
        LET(SYS_exit),
        LET(SYS_exit_group),
        LET((unsigned)more),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1); /* as who asks whether it could */
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0, &program) == -1); /* nor is this one */
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (!strcmp(how, "strict")) MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
    if (!strcmp(how, "prctl")) MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    if (!strcmp(how, "seccomp"))
        MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}

int main(int argc, char **argv) {
    MUST(argc == 4);
    int count = atoi(argv[3]);
    void *kept = site_before();
    static char room[1 << 20]; /* malloc needs no more from the kernel */
    for (int i = 0; i < 1000; i++) free(malloc(sizeof room / 1024));
    enter(argv[1], !strcmp(argv[2], "madvise") ? SYS_madvise : SYS_write);
    for (int i = 0; i < count; i++) MUST(site_inside());
    free(kept);
    say("survived");
    if (!strcmp(argv[1], "strict")) syscall(SYS_exit, 3);
    return 3;
}
