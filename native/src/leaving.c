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
#include "recording.h"
#include "sys.h"
#include "thread.h"

/* ---- forking ----------------------------------------------------------------------------------- */

/* fork() in a signal handler that struck inside of a hook, and returns there.
 *
 * A forked child finds our memory gone or zeroed, and so knows at once that it is another process. But that memory is
 * what a hook works with: where the child returns into the middle of one, it has to be there, as it was. So before a
 * fork the stack is looked at, and if there may be a hook on it, this child is left everything, for once. It ends the
 * hook on copies of its own; for its next event it is a thread, and a process, that nobody knows. Where there was no
 * hook after all (old words look like return addresses) that costs some page tables.
 *
 * Only fork() tells us; a handler that forks by other means must not return into a hook. */

#define MOST_PAGES 64u /* of the stack are looked at */

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *)
    __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* The library's code, between what the linker knows. */
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));
extern const uint8_t etext[] __attribute__((visibility("hidden")));

/* The thread that hides; NULL: none. */
static __thread struct hg_thread *tls_hidden __attribute__((tls_model("initial-exec")));

static bool is_ours(uintptr_t word) {
    return word - (uintptr_t)__ehdr_start < (uintptr_t)etext - (uintptr_t)__ehdr_start;
}

/* Whether a word of our code stands on the stack above `from`, beyond what called us. */
static bool may_be_in_hook(const uintptr_t *from) {
    uintptr_t page = ((uintptr_t)from & ~(uintptr_t)(HG_PAGE - 1)) + HG_PAGE;
    for (uint32_t i = 0; i < MOST_PAGES; i++, page += HG_PAGE) {
        for (; (uintptr_t)from < page; from++) {
            if (is_ours(*from)) return true;
        }
        if (!hg_sys_readable(page)) return false;
    }
    return false;
}

static void prepare(void) {
    const uintptr_t *above = (const uintptr_t *)__builtin_frame_address(0) + 2;
    if (!hg_lifecycle_is_recording() || !may_be_in_hook(above)) return;
    tls_hidden = tls_thread;
    hg_threads_hide();
    hg_sys_leave_to_child(true, hg_lifecycle_gate());
    hg_recording_leave_to_child(true);
}

static void go_on_in_parent(void) {
    if (!tls_hidden) return;
    hg_recording_leave_to_child(false);
    hg_sys_leave_to_child(false, hg_lifecycle_gate());
    tls_thread = tls_hidden;
    tls_hidden = NULL;
}

static void go_on_in_child(void) {
    if (!tls_hidden) return;
    hg_recording_part();
    tls_hidden = NULL;
}

__attribute__((constructor)) static void ask_to_be_told(void) {
    if (__register_atfork)
        __register_atfork(prepare, go_on_in_parent, go_on_in_child, &__dso_handle);
}

/* ---- leaving ----------------------------------------------------------------------------------- */

/* exec, _exit, abort and assert: the ways out of a program that run no exit handler. They only leave a
 * note in the recording, which is cut to what is used, or write out what waits; the call itself goes on
 * to the next function of its name, libc's or another preloaded library's. */

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
