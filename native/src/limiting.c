#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "base.h"
#include "clock.h"
#include "lifecycle.h"
#include "recording.h"
#include "sandbox.h"
#include "sys.h"

/* ---- confining --------------------------------------------------------------------------------- */

/* prctl and syscall, by which a program puts itself into a sandbox, or gives up the time-stamp counter: we have to know
 * of it before. The call itself goes on to libc. Through syscall come those of limiting.c, too. */

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

/* ---- limiting ---------------------------------------------------------------------------------- */

/* setrlimit and mlockall, by which a program limits its address space and what it may lock of it: the recording's
 * mapping, 64 GiB as a rule, is in there, and must not be what uses it up. It is made smaller first; the call
 * itself goes on to libc. */

/* Looked up once, early: see leaving.c. */
static struct {
    int (*setrlimit)(__rlimit_resource_t, const struct rlimit *);
    int (*setrlimit64)(__rlimit_resource_t, const struct rlimit64 *);
    int (*prlimit)(pid_t, enum __rlimit_resource, const struct rlimit *, struct rlimit *);
    int (*prlimit64)(pid_t, enum __rlimit_resource, const struct rlimit64 *, struct rlimit64 *);
    int (*mlockall)(int);
} g_libc;

#define FIND(name) g_libc.name = (__typeof__(g_libc.name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void resolve_limits(void) {
    if (g_libc.mlockall) return;
    FIND(setrlimit);
    FIND(setrlimit64);
    FIND(prlimit);
    FIND(prlimit64);
    FIND(mlockall);
}

/* A vfork child shares our memory, but its limits are its own. */
static bool is_recording_here(void) {
    return hg_lifecycle_is_recording() && hg_sys_pid() == hg_lifecycle_identity()->pid;
}

/* `limit`: a struct rlimit, which is the same as a struct rlimit64; a program may give NULL, or what the kernel
 * will refuse. */
static void before_limit(int resource, const rlim_t *limit) {
    int error = errno;
    bool is_concerned = limit && resource == RLIMIT_AS && is_recording_here();
    if (is_concerned && hg_sys_range_readable((uintptr_t)limit, sizeof(struct rlimit)))
        hg_recording_shrink(*limit);
    errno = error;
}

HG_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit) {
    resolve_limits();
    before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.setrlimit(resource, limit);
}

HG_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit) {
    resolve_limits();
    before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.setrlimit64(resource, limit);
}

static bool is_own(pid_t pid) { return !pid || (uint32_t)pid == hg_sys_pid(); }

HG_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                      struct rlimit *old) {
    resolve_limits();
    if (is_own(pid)) before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.prlimit(pid, resource, limit, old);
}

HG_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                        struct rlimit64 *old) {
    resolve_limits();
    if (is_own(pid)) before_limit((int)resource, (const rlim_t *)limit);
    return g_libc.prlimit64(pid, resource, limit, old);
}

/* What is locked is filled with pages first, the file's holes, too; and without privilege all that is mapped
 * counts. */
HG_EXPORT int mlockall(int flags) {
    int error = errno;
    bool is_ours = is_recording_here();
    resolve_limits();
    if (is_ours && flags & MCL_CURRENT) hg_recording_cut();
    errno = error;
    int result = g_libc.mlockall(flags);
    if (result == 0 || errno != ENOMEM || !is_ours) return result;
    hg_recording_shrink(hg_sys_limit(RLIMIT_MEMLOCK));
    errno = error;
    return g_libc.mlockall(flags);
}

/* ---- namespaces -------------------------------------------------------------------------------- */

/* unshare and setns, by which a program leaves namespaces and joins others. The kernel grants some of that to processes
 * of one thread alone, so ours ends first, and begins again after the call, which itself goes on to libc. */

/* Older headers lack this one. */
#define NEW_TIME 0x80
#define ALONE_TO_LEAVE (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define ALONE_TO_JOIN (CLONE_NEWUSER | CLONE_NEWNS | NEW_TIME)

/* Looked up once, early: see leaving.c. */
static struct {
    int (*unshare)(int);
    int (*setns)(int, int);
} g_spaces;

__attribute__((constructor)) static void resolve_spaces(void) {
    if (g_spaces.setns) return;
    g_spaces.unshare = (__typeof__(g_spaces.unshare))dlsym(RTLD_NEXT, "unshare");
    g_spaces.setns = (__typeof__(g_spaces.setns))dlsym(RTLD_NEXT, "setns");
}

/* What is to be done after the call. */
struct pause {
    uint64_t signals;
    bool is_one;
};

static struct pause pause_outputs(void) {
    struct pause pause = {.signals = hg_sys_block_signals()};
    pause.is_one = hg_lifecycle_is_recording() && hg_outputs_pause();
    return pause;
}

static void resume_outputs(const struct pause *pause) {
    if (pause->is_one) hg_outputs_resume();
    hg_sys_restore_signals(pause->signals);
}

#define ALONE(is_needed, call)                \
    do {                                      \
        if (!(is_needed)) return (call);      \
        struct pause pause = pause_outputs(); \
        long result = (call);                 \
        resume_outputs(&pause);               \
        return result;                        \
    } while (0)

static bool needs_to_leave(long flags) { return flags & ALONE_TO_LEAVE; }

/* 0: whatever the descriptor stands for. */
static bool needs_to_join(long type) { return !type || type & ALONE_TO_JOIN; }

/* Also where the program comes through `syscall`: see limiting.c. */
HG_GLOBAL long hg_namespaces_unshare(long flags);
HG_GLOBAL long hg_namespaces_setns(long fd, long type);

__attribute__((used)) long hg_namespaces_unshare(long flags) {
    resolve_spaces();
    ALONE(needs_to_leave(flags), g_spaces.unshare((int)flags));
}

__attribute__((used)) long hg_namespaces_setns(long fd, long type) {
    resolve_spaces();
    ALONE(needs_to_join(type), g_spaces.setns((int)fd, (int)type));
}

HG_EXPORT int unshare(int flags) { return (int)hg_namespaces_unshare(flags); }

HG_EXPORT int setns(int fd, int type) { return (int)hg_namespaces_setns(fd, type); }
