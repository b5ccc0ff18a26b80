/* 16,384 stacks, taken in turn and then in leaps, five times each: more than a thread remembers at first.
 * case: 5
 */
#include "site.h"

enum { LEVELS = 14 };

static void left(unsigned path, int level);

SITE void site_end(void) {
    void *p = malloc(16);
    KEEP(p);
    free(p);
}

static __attribute__((noinline, noclone)) void right(unsigned path, int level) {
    if (level == LEVELS) site_end();
    else if (path >> level & 1) right(path, level + 1);
    else left(path, level + 1);
    KEEP(path);
}

static __attribute__((noinline, noclone)) void left(unsigned path, int level) {
    if (level == LEVELS) site_end();
    else if (path >> level & 1) right(path, level + 1);
    else left(path, level + 1);
    KEEP(path);
}

int main(int argc, char **argv) {
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 5, all = 1u << LEVELS;
    for (unsigned i = 0; i < rounds * all; i++) left(i * 5 % all, 0);
    for (unsigned i = 0; i < rounds * all; i++) left(i * 7919 % all, 0);
    return 0;
}
