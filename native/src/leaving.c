/* exec, _exit, abort and assert: the ways out of a program that run no exit handler. They only leave a
 * note in the recording, which is cut to what is used, or write out what waits; the call itself goes on
 * to the next function of its name, libc's or another preloaded library's. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "base.h"
#include "bus.h"
#include "lifecycle.h"
#include "sys.h"

/* Looked up once, early: dlsym takes the loader's lock, which a forked child may find taken. */
static struct {
    int (*execv)(const char *, char *const[]);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvp)(const char *, char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*fexecve)(int, char *const[], char *const[]);
    void (*_Exit)(int);
    void (*_exit)(int);
    void (*abort)(void);
    void (*assert_fail)(const char *, const char *, unsigned, const char *);
} g_next;

#define LOOK_UP(name) g_next.name = (__typeof__(g_next.name))dlsym(RTLD_NEXT, #name)

/* Since glibc 2.35, and execveat since 2.34: where this is, so is that. Where it is not, to look for it
 * early would be to allocate, as dlsym does when it finds nothing. */
extern int find_object(void *, void *) __asm__("_dl_find_object") __attribute__((weak));

__attribute__((constructor)) static void resolve(void) {
    if (g_next._exit) return;
    LOOK_UP(execv);
    LOOK_UP(execve);
    LOOK_UP(execvp);
    LOOK_UP(execvpe);
    if (find_object) LOOK_UP(execveat);
    LOOK_UP(fexecve);
    LOOK_UP(_Exit);
    LOOK_UP(_exit);
    LOOK_UP(abort);
    g_next.assert_fail = (__typeof__(g_next.assert_fail))dlsym(RTLD_NEXT, "__assert_fail");
}

/* `call`, which returns only when it fails, between its two notes. */
#define NOTED(call)             \
    resolve();                  \
    hg_lifecycle_execing();     \
    hg_bus_execing();           \
    int result = (call);        \
    int error = errno;          \
    hg_bus_exec_failed();       \
    hg_lifecycle_exec_failed(); \
    errno = error;              \
    return result

HG_EXPORT int execv(const char *path, char *const argv[]) { NOTED(g_next.execv(path, argv)); }

HG_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    NOTED(g_next.execve(path, argv, envp));
}

HG_EXPORT int execvp(const char *file, char *const argv[]) { NOTED(g_next.execvp(file, argv)); }

HG_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    NOTED(g_next.execvpe(file, argv, envp));
}

HG_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[],
                       int flags) {
    if (!g_next.execveat) LOOK_UP(execveat); /* glibc 2.34, or the program found ours by itself */
    if (!g_next.execveat) {
        errno = ENOSYS;
        return -1;
    }
    NOTED(g_next.execveat(fd, path, argv, envp, flags));
}

HG_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    NOTED(g_next.fexecve(fd, argv, envp));
}

/* The listed arguments, `first` and those behind it, as an array on the stack; `then` may read on
 * behind their end; then `call`, which takes that array: nothing else could be handed a list. */
#define WITH_ARGUMENTS(first, then, call)                               \
    va_list list;                                                       \
    size_t count = 1;                                                   \
    va_start(list, first);                                              \
    while (va_arg(list, const char *)) count++;                         \
    va_end(list);                                                       \
    char *argv[count + 1];                                              \
    argv[0] = (char *)(first);                                          \
    va_start(list, first);                                              \
    for (size_t i = 1; i <= count; i++) argv[i] = va_arg(list, char *); \
    then;                                                               \
    va_end(list);                                                       \
    NOTED(call)

HG_EXPORT int execl(const char *path, const char *arg, ...) {
    WITH_ARGUMENTS(arg, (void)0, g_next.execv(path, argv));
}

HG_EXPORT int execlp(const char *file, const char *arg, ...) {
    WITH_ARGUMENTS(arg, (void)0, g_next.execvp(file, argv));
}

HG_EXPORT int execle(const char *path, const char *arg, ...) {
    WITH_ARGUMENTS(arg, char *const *envp = va_arg(list, char *const *),
                   g_next.execve(path, argv, envp));
}

static _Noreturn void leave(int status, void (**next)(int)) {
    hg_lifecycle_exiting(status);
    resolve();
    (*next)(status);
    for (;;) hg_sys_exit(status);
}

HG_EXPORT _Noreturn void _exit(int status) { leave(status, &g_next._exit); }

HG_EXPORT _Noreturn void _Exit(int status) { leave(status, &g_next._Exit); }

/* libc's own calls of abort come past this: the second catches a failed assertion's. */
HG_EXPORT _Noreturn void abort(void) {
    hg_lifecycle_aborting();
    resolve();
    g_next.abort();
    for (;;) hg_sys_exit(128 + SIGABRT);
}

HG_EXPORT _Noreturn void __assert_fail(const char *assertion, const char *file, unsigned line,
                                       const char *function) {
    hg_lifecycle_aborting();
    resolve();
    g_next.assert_fail(assertion, file, line, function);
    for (;;) hg_sys_exit(128 + SIGABRT);
}
