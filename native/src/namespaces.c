/* unshare and setns, by which a program leaves namespaces and joins others. The kernel grants some of that to processes
 * of one thread alone, so ours ends first, and begins again after the call, which itself goes on to libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

#include "base.h"
#include "lifecycle.h"
#include "outputs.h"
#include "sys.h"

/* Older headers lack this one. */
#define NEW_TIME 0x80
#define ALONE_TO_LEAVE (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define ALONE_TO_JOIN (CLONE_NEWUSER | CLONE_NEWNS | NEW_TIME)

/* Looked up once, early: see leaving.c. */
static struct {
    int (*unshare)(int);
    int (*setns)(int, int);
} g_libc;

__attribute__((constructor)) static void resolve(void) {
    if (g_libc.setns) return;
    g_libc.unshare = (__typeof__(g_libc.unshare))dlsym(RTLD_NEXT, "unshare");
    g_libc.setns = (__typeof__(g_libc.setns))dlsym(RTLD_NEXT, "setns");
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

/* Also where the program comes through `syscall`: see confining.c. */
HG_GLOBAL long hg_namespaces_unshare(long flags);
HG_GLOBAL long hg_namespaces_setns(long fd, long type);

__attribute__((used)) long hg_namespaces_unshare(long flags) {
    resolve();
    ALONE(needs_to_leave(flags), g_libc.unshare((int)flags));
}

__attribute__((used)) long hg_namespaces_setns(long fd, long type) {
    resolve();
    ALONE(needs_to_join(type), g_libc.setns((int)fd, (int)type));
}

HG_EXPORT int unshare(int flags) { return (int)hg_namespaces_unshare(flags); }

HG_EXPORT int setns(int fd, int type) { return (int)hg_namespaces_setns(fd, type); }
