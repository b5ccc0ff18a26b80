#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long microseconds(struct timeval time) {
    return time.tv_sec * 1000000LL + time.tv_usec;
}

static int run(int report, const char *path, char **argv) {
    execv(path, argv);
    dprintf(report, "failed %d\n", errno);
    _exit(127);
}

int measure(int report, const char *path, char **argv) {
    int status = 0;
    struct rusage used;
    fcntl(report, F_SETFD, FD_CLOEXEC);
    long long start = now_ns();
    pid_t child = fork();
    if (child == 0) run(report, path, argv);
    if (child < 0) dprintf(report, "failed %d\n", errno);
    if (child < 0 || wait4(child, &status, 0, &used) != child) return 1;
    long long elapsed = now_ns() - start;
    dprintf(report, "%d %d %lld %lld %lld %ld\n", WIFEXITED(status) ? WEXITSTATUS(status) : 0,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, microseconds(used.ru_utime),
            microseconds(used.ru_stime), elapsed, used.ru_maxrss);
    return 0;
}
