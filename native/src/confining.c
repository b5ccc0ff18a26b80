/* prctl and syscall, by which a program puts itself into a sandbox: we have to know of it before it is one. The call
 * itself goes on to libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base.h"
#include "sandbox.h"

/* Looked up once, early: see leaving.c. Both take what they take in registers, and one word more. */
static struct {
    int (*prctl)(int, long, long, long, long);
    long (*syscall)(long, long, long, long, long, long, long);
} g_libc;

__attribute__((constructor)) static void resolve(void) {
    if (g_libc.syscall) return;
    g_libc.prctl = (__typeof__(g_libc.prctl))dlsym(RTLD_NEXT, "prctl");
    g_libc.syscall = (__typeof__(g_libc.syscall))dlsym(RTLD_NEXT, "syscall");
}

/* It may fail; then we do without calls that we could make. Programs that only ask whether there are filters give
 * none, or flags that do not exist. */
static HG_NOINLINE void before_sandbox(long mode, long flags, long filter) {
    const struct sock_fprog *given = (const struct sock_fprog *)filter;
    if (mode == SECCOMP_MODE_STRICT && !flags) hg_sandbox_enter(NULL);
    if (mode == SECCOMP_MODE_FILTER && given && given->filter && given->len <= BPF_MAXINSNS)
        hg_sandbox_enter(given);
}

/* Under its own name in the header it has no number of arguments. */
HG_EXPORT int confined_prctl(int option, long a, long b, long c, long d) __asm__("prctl");
int confined_prctl(int option, long a, long b, long c, long d) {
    if (HG_UNLIKELY(!g_libc.prctl)) resolve();
    if (HG_UNLIKELY(option == PR_SET_SECCOMP)) before_sandbox(a, 0, b);
    return g_libc.prctl(option, a, b, c, d);
}

HG_EXPORT long confined_syscall(long number, long a, long b, long c, long d, long e,
                                long f) __asm__("syscall");
long confined_syscall(long number, long a, long b, long c, long d, long e, long f) {
    if (HG_UNLIKELY(!g_libc.syscall)) resolve();
    if (HG_UNLIKELY(number == SYS_seccomp && a <= SECCOMP_SET_MODE_FILTER))
        before_sandbox(a == SECCOMP_SET_MODE_FILTER ? SECCOMP_MODE_FILTER : SECCOMP_MODE_STRICT, b,
                       c);
    return g_libc.syscall(number, a, b, c, d, e, f);
}
