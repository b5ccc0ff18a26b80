/* A block from each of 2^DEPTH stacks: many_stacks DEPTH
 */
#include "site.h"

SITE void left(unsigned path, int depth);
SITE void right(unsigned path, int depth);

static void go_on(unsigned path, int depth) {
    if (depth) (path & 1 ? left : right)(path >> 1, depth - 1);
    else MUST(malloc(10));
}

SITE void left(unsigned path, int depth) {
    go_on(path, depth);
    KEEP(path);
}

SITE void right(unsigned path, int depth) {
    go_on(path, depth);
    KEEP(path);
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    int depth = atoi(argv[1]);
    for (unsigned path = 0; path < 1u << depth; path++) go_on(path, depth);
    return 0;
}
