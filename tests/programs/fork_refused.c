/* A handler that strikes inside malloc forks, and then there is no block, in the parent nor in the child: the
 * system calls that would get memory are trapped, and the handler answers for the kernel.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "site.h"

#define TRAP(call) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

static volatile pid_t g_child = -1;

static void refuse(int signal, siginfo_t *info, void *context) {
    (void)signal;
    ucontext_t *interrupted = context;
    if (g_child < 0) g_child = fork();
    interrupted->uc_mcontext.gregs[REG_RAX] = info->si_syscall == SYS_brk ? 0 : -ENOMEM;
}

static void trap(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        TRAP(SYS_mmap),
        TRAP(SYS_brk),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = refuse, .sa_flags = SA_SIGINFO | SA_NODEFER};
    MUST(sigaction(SIGSYS, &action, NULL) == 0);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

int main(void) {
    for (int i = 0; i < 1000; i++) {
        void *block = malloc(100);
        KEEP(block);
        free(block);
    }
    trap();
    void *block = malloc(2000000);
    KEEP(block);
    if (g_child == 0) _exit(block ? 1 : 7);
    int status;
    MUST(waitpid(g_child, &status, 0) == g_child);
    MUST(!block && WIFEXITED(status));
    return WEXITSTATUS(status);
}
