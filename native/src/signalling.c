/* sigaction and its kin, by which a program sets what is done on SIGBUS, or asks for it: it finds what it set itself, not
 * ours (bus.h). And posix_spawn, system and popen, by which it hands on that it ignores SIGBUS; exec is in leaving.c. The
 * call itself goes on to libc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base.h"
#include "bus.h"

typedef void (*handler)(int);
typedef int set_action(int, const struct sigaction *, struct sigaction *);
typedef handler set_handler(int, handler);
typedef int spawn(pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const[], char *const[]);

/* Looked up once, early: see leaving.c. */
static struct {
    set_action *sigaction, *__sigaction;
    set_handler *signal, *bsd_signal, *ssignal, *sysv_signal, *__sysv_signal, *sigset;
    int (*sigignore)(int);
    int (*siginterrupt)(int, int);
    spawn *posix_spawn, *posix_spawnp;
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
} g_libc;

#define FIND(name) g_libc.name = (__typeof__(g_libc.name))dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void resolve(void) {
    if (HG_LIKELY(g_libc.popen != NULL)) return;
    FIND(sigaction);
    FIND(__sigaction);
    FIND(signal);
    FIND(bsd_signal);
    FIND(ssignal);
    FIND(sysv_signal);
    FIND(__sysv_signal);
    FIND(sigset);
    FIND(sigignore);
    FIND(siginterrupt);
    FIND(posix_spawn);
    FIND(posix_spawnp);
    FIND(system);
    FIND(popen);
}

/* ---- what is done on SIGBUS --------------------------------------------------------------------------- */

/* What libc says it was before. */
static void show(const struct hg_action *program, struct sigaction *old) {
    if (!old || (uintptr_t)old->sa_handler != hg_bus_handler()) return;
    old->sa_handler = (handler)program->handler;
    __builtin_memcpy(&old->sa_mask, &program->mask, sizeof program->mask);
    old->sa_flags = (int)(unsigned)program->flags;
    old->sa_restorer = (void (*)(void))program->restorer;
}

static int change_action(set_action *next, const struct sigaction *act, struct sigaction *old) {
    struct hg_bus_change change = hg_bus_begin_change();
    int result = next(SIGBUS, act, old), error = errno;
    if (result == 0) show(&change.before, old);
    hg_bus_end_change(&change);
    errno = error;
    return result;
}

static handler change_handler(set_handler *next, handler to) {
    struct hg_bus_change change = hg_bus_begin_change();
    handler before = next(SIGBUS, to);
    int error = errno;
    if ((uintptr_t)before == hg_bus_handler()) before = (handler)change.before.handler;
    hg_bus_end_change(&change);
    errno = error;
    return before;
}

#define SETS_ACTION(name)                                                               \
    HG_EXPORT int name(int signal, const struct sigaction *act, struct sigaction *old); \
    int name(int signal, const struct sigaction *act, struct sigaction *old) {          \
        resolve();                                                                      \
        return signal == SIGBUS ? change_action(g_libc.name, act, old)                  \
                                : g_libc.name(signal, act, old);                        \
    }
SETS_ACTION(sigaction)
SETS_ACTION(__sigaction)

#define SETS_HANDLER(name)                                                                   \
    HG_EXPORT handler name(int signal, handler to);                                          \
    handler name(int signal, handler to) {                                                   \
        resolve();                                                                           \
        return signal == SIGBUS ? change_handler(g_libc.name, to) : g_libc.name(signal, to); \
    }
SETS_HANDLER(signal)
SETS_HANDLER(bsd_signal)
SETS_HANDLER(ssignal)
SETS_HANDLER(sysv_signal)
SETS_HANDLER(__sysv_signal)
SETS_HANDLER(sigset)

HG_EXPORT int sigignore(int signal) {
    resolve();
    if (signal != SIGBUS) return g_libc.sigignore(signal);
    struct hg_bus_change change = hg_bus_begin_change();
    int result = g_libc.sigignore(signal), error = errno;
    hg_bus_end_change(&change);
    errno = error;
    return result;
}

/* libc changes a flag of whatever stands there: let that be the program's own. */
HG_EXPORT int siginterrupt(int signal, int interrupts) {
    resolve();
    if (signal != SIGBUS) return g_libc.siginterrupt(signal, interrupts);
    struct hg_bus_change change = hg_bus_begin_change();
    hg_bus_step_aside(&change);
    int result = g_libc.siginterrupt(signal, interrupts), error = errno;
    hg_bus_end_change(&change);
    errno = error;
    return result;
}

/* ---- what other programs find ------------------------------------------------------------------------- */

/* While the call lasts SIGBUS is ignored as the program set it. */
#define HANDING_ON(type, call)                   \
    do {                                         \
        resolve();                               \
        if (!hg_bus_is_ignored()) return (call); \
        hg_bus_execing();                        \
        type result = (call);                    \
        int error = errno;                       \
        hg_bus_exec_failed();                    \
        errno = error;                           \
        return result;                           \
    } while (0)

HG_EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const argv[],
                          char *const envp[]) {
    HANDING_ON(int, g_libc.posix_spawn(pid, path, actions, attributes, argv, envp));
}

HG_EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[],
                           char *const envp[]) {
    HANDING_ON(int, g_libc.posix_spawnp(pid, file, actions, attributes, argv, envp));
}

HG_EXPORT int system(const char *command) { HANDING_ON(int, g_libc.system(command)); }

HG_EXPORT FILE *popen(const char *command, const char *mode) {
    HANDING_ON(FILE *, g_libc.popen(command, mode));
}
