/* A daemon: forks twice, starts a session, changes directory, closes everything, then works.
 * The path of its log is its argument.
 */
#include <fcntl.h>

#include "site.h"

SITE void site_work(int n) {
    for (int i = 0; i < n; i++) {
        void *p = malloc(200);
        KEEP(p);
    }
}

/* Leave the terminal and every descriptor behind but 900, which tells the waiter when we end. */
static void detach(void) {
    if (fork()) _exit(0);
    setsid();
    if (fork()) _exit(0);
    MUST(chdir("/") == 0);
    for (int fd = 0; fd < 900; fd++) close(fd);
}

static int wait_for_end(int fd) {
    char byte;
    while (read(fd, &byte, 1) > 0) continue;
    say("daemon is gone");
    return 0;
}

int main(int argc, char **argv) {
    int ends[2];
    MUST(argc == 2 && pipe(ends) == 0);
    if (fork()) {
        close(ends[1]);
        return wait_for_end(ends[0]);
    }
    MUST(dup2(ends[1], 900) == 900);
    detach();
    int null = open("/dev/null", O_RDWR), log = open(argv[1], O_WRONLY | O_CREAT, 0600);
    site_work(50);
    dprintf(log, "descriptors %d %d\n", null, log);
    site_work(50);
    return 0;
}
