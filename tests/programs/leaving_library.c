/* A library to be preloaded that says when a program leaves, and by which function, and goes on to the
 * next function of that name.
 * build: -shared -fPIC -ldl
 */
#include <dlfcn.h>

#include "site.h"

#define NEXT(name) (say("leaves by %s", #name), (__typeof__(name) *)dlsym(RTLD_NEXT, #name))

int execv(const char *path, char *const argv[]) { return NEXT(execv)(path, argv); }

int execve(const char *path, char *const argv[], char *const envp[]) {
    return NEXT(execve)(path, argv, envp);
}

int execvp(const char *file, char *const argv[]) { return NEXT(execvp)(file, argv); }

int execvpe(const char *file, char *const argv[], char *const envp[]) {
    return NEXT(execvpe)(file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[]) {
    return NEXT(fexecve)(fd, argv, envp);
}

#if __GLIBC_PREREQ(2, 34)
int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags) {
    return NEXT(execveat)(fd, path, argv, envp, flags);
}
#endif

void _exit(int status) {
    NEXT(_exit)(status);
    abort();
}

void _Exit(int status) {
    NEXT(_Exit)(status);
    abort();
}
