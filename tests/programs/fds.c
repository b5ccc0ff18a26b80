/* What a program sees of its descriptors: at start, while it runs, after it closed them all.
 * expect: site_block allocations=400 frees=0 bytes=40000
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "site.h"

SITE void site_block(int n) {
    for (int i = 0; i < n; i++) {
        void *p = malloc(100);
        KEEP(p);
    }
}

/* Which descriptors are open, found without opening one. */
static void list(const char *when) {
    char open_fds[300] = "";
    for (int fd = 0; fd < 200; fd++)
        if (fcntl(fd, F_GETFD) != -1) snprintf(strchr(open_fds, 0), 20, " %d", fd);
    say("%s:%s", when, open_fds);
}

static void list_proc(void) {
    char buffer[4096];
    int fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
    long n = syscall(SYS_getdents64, fd, buffer, sizeof buffer);
    int count = 0;
    for (long at = 0; at < n; at += *(unsigned short *)(buffer + at + 16)) count++;
    say("/proc/self/fd has %d entries, itself %d", count, fd);
    close(fd);
}

int main(void) {
    list("at start");
    list_proc();
    site_block(100);
    list("after allocating");
    int a = open("/dev/null", O_RDONLY), b = dup(1);
    say("opened %d and %d", a, b);
    int saved = fcntl(1, F_DUPFD, 150);
    for (int fd = 0; fd < 100; fd++) close(fd);
    site_block(100);
    int first = open("/dev/null", O_RDWR), second = open("/dev/null", O_RDWR);
    site_block(100);
    dup2(saved, 1);
    close(saved);
    say("after closing all: first %d, second %d", first, second);
    list("at the end");
    list_proc();
    site_block(100);
    return 0;
}
