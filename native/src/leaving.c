/* exec and _exit: the ways out of a program that run no exit handler. They only leave a note in
 * the recording; the call itself goes on to libc, whatever it finds there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include "base.h"
#include "lifecycle.h"
#include "sys.h"

extern char **environ;

/* Looked up once, early: dlsym takes the loader's lock, which a forked child may find taken. */
static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    void (*_exit)(int);
} g_libc;

__attribute__((constructor)) static void resolve(void) {
    if (g_libc._exit) return;
    g_libc.execve = (int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execve");
    g_libc.execvpe =
        (int (*)(const char *, char *const[], char *const[]))dlsym(RTLD_NEXT, "execvpe");
    g_libc.fexecve = (int (*)(int, char *const[], char *const[]))dlsym(RTLD_NEXT, "fexecve");
    g_libc._exit = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
}

/* `call`, which returns only when it fails, between its two notes. */
#define NOTED(call)             \
    hg_lifecycle_execing();     \
    int result = (call);        \
    int error = errno;          \
    hg_lifecycle_exec_failed(); \
    errno = error;              \
    return result

HG_EXPORT int execve(const char *path, char *const argv[], char *const envp[]) {
    resolve();
    NOTED(g_libc.execve(path, argv, envp));
}

HG_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[]) {
    resolve();
    NOTED(g_libc.execvpe(file, argv, envp));
}

HG_EXPORT int fexecve(int fd, char *const argv[], char *const envp[]) {
    resolve();
    NOTED(g_libc.fexecve(fd, argv, envp));
}

HG_EXPORT int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

HG_EXPORT int execvp(const char *file, char *const argv[]) { return execvpe(file, argv, environ); }

/* The listed arguments, `first` and those behind it, as an array on the stack; `then` may read on
 * behind their end; then `call`. */
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
    char *const *envp = environ;                                        \
    then;                                                               \
    va_end(list);                                                       \
    return call(path, argv, envp)

HG_EXPORT int execl(const char *path, const char *arg, ...) {
    WITH_ARGUMENTS(arg, (void)0, execve);
}

HG_EXPORT int execlp(const char *path, const char *arg, ...) {
    WITH_ARGUMENTS(arg, (void)0, execvpe);
}

HG_EXPORT int execle(const char *path, const char *arg, ...) {
    WITH_ARGUMENTS(arg, envp = va_arg(list, char *const *), execve);
}

static _Noreturn void leave(int status) {
    hg_lifecycle_exiting(status);
    resolve();
    g_libc._exit(status);
    for (;;) hg_sys_exit(status);
}

HG_EXPORT _Noreturn void _exit(int status) { leave(status); }

HG_EXPORT _Noreturn void _Exit(int status) { leave(status); }
