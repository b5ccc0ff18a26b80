/* Calls that the kernel grants to processes of one thread alone, as they come: for each what it gives.
 * Arguments: how (`libc`, `syscall`), by whom (`parent`, `child`), and which of them.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "site.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static int g_by_syscall;

SITE void *site_kept(void) {
    void *p = malloc(5000);
    KEEP(p);
    return p;
}

static void tell(const char *what, long result) {
    int error = result < 0 ? errno : 0;
    say("%s: %ld, errno %d", what, result, error);
    MUST(site_kept());
}

static void leave(const char *what, int flags) {
    errno = 0;
    tell(what, g_by_syscall ? syscall(SYS_unshare, flags) : unshare(flags));
}

static void join(const char *what, const char *path, int type) {
    int fd = open(path, O_RDONLY);
    errno = 0;
    tell(what, g_by_syscall ? syscall(SYS_setns, fd, type) : setns(fd, type));
    close(fd);
}

/* Into the namespaces of a child that has left ours. */
static void join_child(int type) {
    int ready[2], done[2];
    char byte, path[64];
    MUST(pipe(ready) == 0 && pipe(done) == 0);
    pid_t child = fork();
    MUST(child >= 0);
    if (!child) {
        close(done[1]);
        _exit(syscall(SYS_unshare, CLONE_NEWUSER) || write(ready[1], "x", 1) != 1 ||
              read(done[0], &byte, 1));
    }
    MUST(read(ready[0], &byte, 1) == 1);
    snprintf(path, sizeof path, "/proc/%d/ns/user", child);
    join("user", path, type);
    close(done[1]);
    MUST(waitpid(child, NULL, 0) == child);
}

static void call(const char *which) {
    if (!strcmp(which, "user")) leave("user", CLONE_NEWUSER);
    if (!strcmp(which, "thread")) leave("thread", CLONE_THREAD);
    if (!strcmp(which, "sighand")) leave("sighand", CLONE_SIGHAND);
    if (!strcmp(which, "vm")) leave("vm", CLONE_VM);
    if (!strcmp(which, "nonsense")) leave("nonsense", ~0);
    if (!strcmp(which, "pid")) leave("user and processes", CLONE_NEWUSER | CLONE_NEWPID);
    if (!strcmp(which, "twice")) leave("user", CLONE_NEWUSER), leave("again", CLONE_NEWUSER);
    if (!strcmp(which, "join-user")) join_child(CLONE_NEWUSER);
    if (!strcmp(which, "join-any")) join_child(0);
    if (!strcmp(which, "join-no")) join("no descriptor", "/no/such/file", CLONE_NEWUSER);
    if (!strcmp(which, "join-mounts")) {
        leave("user and mounts", CLONE_NEWUSER | CLONE_NEWNS);
        join("mounts", "/proc/self/ns/mnt", CLONE_NEWNS);
    }
    if (!strcmp(which, "join-time")) {
        leave("user and time", CLONE_NEWUSER | CLONE_NEWTIME);
        join("time", "/proc/self/ns/time_for_children", CLONE_NEWTIME);
    }
}

int main(int argc, char **argv) {
    int status;
    MUST(argc == 4 && site_kept());
    g_by_syscall = !strcmp(argv[1], "syscall");
    pid_t child = strcmp(argv[2], "child") ? -1 : fork();
    if (child > 0) {
        MUST(waitpid(child, &status, 0) == child);
        return WEXITSTATUS(status);
    }
    if (!child) MUST(site_kept());
    call(argv[3]);
    return 5;
}
