/* Leaves blocks behind, each from a stack of its own, as many as it is told: recursion tells them apart.
 * case: 5 _exit
 */
#include <fcntl.h>

#include "site.h"

SITE void *site_leak(int depth, int at) {
    void *block = at < depth ? site_leak(depth, at + 1) : malloc((size_t)depth + 1);
    KEEP(block);
    return block;
}

static void leave(void) { _exit(6); }

/* SOURCES [_exit | twice | reopen FILE | closed] */
int main(int argc, char **argv) {
    int sources = atoi(argv[1]);
    const char *how = argc > 2 ? argv[2] : "";
    free(site_leak(0, 0));
    for (int i = 0; i < sources; i++) site_leak(i, 0);
    if (!strcmp(how, "reopen")) {
        close(2);
        MUST(open(argv[3], O_RDWR) == 2);
    }
    if (!strcmp(how, "closed")) close(2);
    if (!strcmp(how, "twice")) MUST(!atexit(leave));
    say("done");
    if (!strcmp(how, "_exit")) _exit(7);
    return 6;
}
