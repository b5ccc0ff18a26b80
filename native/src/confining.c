/* prctl and syscall, by which a program puts itself into a sandbox, or gives up the time-stamp counter: we have to know
 * of it before. The call itself goes on to libc. Through syscall come those of namespaces.c, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base.h"
#include "clock.h"
#include "lifecycle.h"
#include "outputs.h"
#include "sandbox.h"
#include "sys.h"

#define HG_TEXT(x) #x
#define HG_NUMBER(x) HG_TEXT(x)

/* Before it is looked up: no program makes its sandbox so early. */
static long call_directly(long number, long a, long b, long c, long d, long e, long f) {
    long result = hg_syscall_now(number, a, b, c, d, e, f);
    if (result >= 0 || result <= -4096) return result;
    errno = (int)-result;
    return -1;
}

/* Looked up once, early: see leaving.c. */
static int (*g_prctl)(int, long, long, long, long);
HG_GLOBAL long (*hg_confining_syscall)(long, ...);
HG_GLOBAL long hg_confining_seccomp(long, long, long);
HG_GLOBAL long hg_confining_prctl(long, long, long, long, long);
long (*hg_confining_syscall)(long, ...) = (long (*)(long, ...))(void *)call_directly;

__attribute__((constructor)) static void resolve(void) {
    if (g_prctl) return;
    g_prctl = (__typeof__(g_prctl))dlsym(RTLD_NEXT, "prctl");
    void *next = dlsym(RTLD_NEXT, "syscall");
    if (next) hg_confining_syscall = (long (*)(long, ...))next;
}

/* The kernel will say so of what cannot be read. In a sandbox that does not let us ask: who is in one knows what to
 * give. */
static bool is_there(const void *at, size_t size) {
    return !hg_sandbox_lets(SYS_rt_sigprocmask) || hg_sys_range_readable((uintptr_t)at, size);
}

/* Whether it is about to get a filter. Programs that only ask whether there are any give none, or flags that do not
 * exist. */
static bool is_filter(long mode, long filter) {
    const struct sock_fprog *given = (const struct sock_fprog *)filter;
    if (mode != SECCOMP_MODE_FILTER || !given || !is_there(given, sizeof *given)) return false;
    size_t size = given->len * sizeof *given->filter;
    return given->filter && given->len <= BPF_MAXINSNS && is_there(given->filter, size);
}

/* Strict mode takes the time-stamp counter, too, and nearly all that our thread would call. */
static void prepare_for_strict(void) {
    uint64_t signals = hg_sys_block_signals();
    hg_clock_forgo_counter();
    if (hg_lifecycle_is_recording()) hg_outputs_pause();
    hg_sys_restore_signals(signals);
}

/* The call is one that puts the program into a sandbox of this mode; before it is in, we have to know. */
#define CONFINE(mode, flags, filter, call)                                             \
    do {                                                                               \
        bool has_filter = is_filter((mode), (filter));                                 \
        if (!has_filter && ((mode) != SECCOMP_MODE_STRICT || (flags))) break;          \
        hg_clock_enter_sandbox();                                                      \
        if (!has_filter) prepare_for_strict();                                         \
        struct hg_sandbox before =                                                     \
            hg_sandbox_enter(has_filter ? (const struct sock_fprog *)(filter) : NULL); \
        long result = (call);                                                          \
        if (result < 0) hg_sandbox_leave(&before);                                     \
        return result;                                                                 \
    } while (0)

static HG_NOINLINE long prctl_seccomp(long a, long b, long c, long d) {
    CONFINE(a, 0, b, g_prctl(PR_SET_SECCOMP, a, b, c, d));
    return g_prctl(PR_SET_SECCOMP, a, b, c, d);
}

__attribute__((used)) long hg_confining_prctl(long option, long a, long b, long c, long d) {
    if (HG_UNLIKELY(!g_prctl)) resolve();
    if (HG_UNLIKELY(option == PR_SET_SECCOMP)) return prctl_seccomp(a, b, c, d);
    if (HG_UNLIKELY(option == PR_SET_TSC && a == PR_TSC_SIGSEGV)) hg_clock_forgo_counter();
    return g_prctl((int)option, a, b, c, d);
}

__attribute__((used)) long hg_confining_seccomp(long a, long b, long c) {
    long mode = a == SECCOMP_SET_MODE_FILTER   ? SECCOMP_MODE_FILTER
                : a == SECCOMP_SET_MODE_STRICT ? SECCOMP_MODE_STRICT
                                               : SECCOMP_MODE_DISABLED;
    CONFINE(mode, b, c, hg_confining_syscall(SYS_seccomp, a, b, c));
    return hg_confining_syscall(SYS_seccomp, a, b, c);
}

/* Under its own name in the header it has no number of arguments. */
HG_EXPORT int confined_prctl(int option, long a, long b, long c, long d) __asm__("prctl");
int confined_prctl(int option, long a, long b, long c, long d) {
    return (int)hg_confining_prctl(option, a, b, c, d);
}

/* In assembly: a caller that gives fewer arguments has words of its own, which another thread may be changing, where
 * a function in C would read and write the last one. And who is made by a call has no frame of ours to return
 * to. */
__asm__(".pushsection .text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        ".cfi_startproc\n"
        "    cmpq $" HG_NUMBER(SYS_seccomp) ", %rdi\n"
        "    je 1f\n"
        "    cmpq $" HG_NUMBER(SYS_prctl) ", %rdi\n"
        "    je 4f\n"
        "    cmpq $" HG_NUMBER(SYS_unshare) ", %rdi\n"
        "    je 2f\n"
        "    cmpq $" HG_NUMBER(SYS_setns) ", %rdi\n"
        "    je 3f\n"
        "    jmp *hg_confining_syscall(%rip)\n"
        "1:  movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    jmp hg_confining_seccomp\n"
        "2:  movq %rsi, %rdi\n"
        "    jmp hg_namespaces_unshare\n"
        "3:  movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    jmp hg_namespaces_setns\n"
        "4:  movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %rcx\n"
        "    movq %r9, %r8\n"
        "    jmp hg_confining_prctl\n"
        ".cfi_endproc\n"
        ".size syscall, . - syscall\n"
        ".popsection\n");
