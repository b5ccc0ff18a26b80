/* Gives the kernel what it refuses, where libc looks at nothing: pointers to nowhere, and filters that are none. Says
 * what came of each, and goes on.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "site.h"

static void tell(const char *what, long result) {
    say("%s: %ld, errno %d", what, result, result < 0 ? errno : 0);
}

static void give_filter(const char *what, const void *program) {
    tell(what, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program));
    tell(what, syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program));
}

/* The last bytes before memory that nobody may touch. */
static char *end_of_memory(void) {
    long page = sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(memory != MAP_FAILED && mprotect(memory + page, (size_t)page, PROT_NONE) == 0);
    return memory + page;
}

static void give_filters(char *end) {
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    give_filter("nowhere", (void *)-8);
    give_filter("at the end", end - 8);
    struct sock_fprog nowhere = {1, (struct sock_filter *)8};
    give_filter("steps nowhere", &nowhere);
    struct sock_fprog longer = {2, (struct sock_filter *)(end - 8)};
    give_filter("steps beyond the end", &longer);
    struct sock_filter back[] = {BPF_STMT(BPF_JMP | BPF_JA, -1), BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_fprog endless = {2, back};
    give_filter("a jump to itself", &endless);
    struct sock_filter ahead[] = {BPF_JUMP(BPF_JMP | BPF_JEQ, 0, 255, 255)};
    struct sock_fprog beyond = {1, ahead};
    give_filter("a jump beyond the end", &beyond);
}

static void give_limits(char *end) {
    struct rlimit *nowhere = (struct rlimit *)-16;
    tell("setrlimit", setrlimit(RLIMIT_AS, nowhere));
    tell("setrlimit at the end", setrlimit(RLIMIT_AS, (struct rlimit *)(end - 8)));
    tell("prlimit", prlimit(0, RLIMIT_AS, nowhere, NULL));
}

int main(void) {
    free(malloc(100));
    char *end = end_of_memory();
    give_filters(end);
    give_limits(end);
    void *block = malloc(200);
    KEEP(block);
    return 0;
}
