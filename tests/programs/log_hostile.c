/* What programs do to the descriptor of a log, by the first argument; then the same work as ever.
 *
 * reuse FILE: put a file of its own in its place, also for a child.  close: close every descriptor but the first three.
 * limit: let no file grow any more.  leave FILE: go there, as root for good and as nobody. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "site.h"

enum { USUAL_FD = 1022, ROUNDS = 5000 };

SITE void site_work(void) {
    for (int i = 0; i < ROUNDS; i++) {
        void *p = malloc((size_t)i);
        KEEP(p);
        free(p);
    }
}

static void reuse(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    MUST(fd >= 0 && dup2(fd, USUAL_FD) == USUAL_FD && close(fd) == 0);
    MUST(write(USUAL_FD, "mine", 4) == 4);
}

static void close_all(void) {
    for (int fd = 3; fd < 65536; fd++) close(fd);
}

static void limit(void) {
    struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
}

static void leave(const char *path) {
    MUST(chdir(path) == 0);
    if (geteuid()) return;
    MUST(chroot(path) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
}

int main(int argc, char **argv) {
    site_work();
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "reuse")) reuse(argv[2]);
    if (!strcmp(what, "close")) close_all();
    if (!strcmp(what, "limit")) limit();
    if (!strcmp(what, "leave")) leave(argv[2]);
    site_work();
    if (!strcmp(what, "reuse") && fork() == 0) {
        site_work();
        _exit(0);
    }
    wait(NULL);
    say("done");
    return 4;
}
