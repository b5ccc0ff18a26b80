/* As many call stacks as asked for, each with some blocks, on paths of 20 functions that the bits
 * of the stack's number choose: what a large program's recording looks like to its readers. */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

static void *g_last;

NOINLINE static void even_0(unsigned path) {
    void *block = malloc(16 + path / 16384 % 512);
    if (path / 16384 & 1) free(g_last);
    g_last = block;
}

NOINLINE static void odd_0(unsigned path) {
    even_0(path + 1);
    __asm__ volatile("");
}

/* The lowest bit of the path chooses what is called; it goes round, so that the number stays whole
 * and is there, 16384 times as large, in the end. */
#define CALL(below)                         \
    unsigned rest = path >> 1 | path << 31; \
    if (path & 1) odd_##below(rest);        \
    else even_##below(rest);                \
    __asm__ volatile("")

#define LEVEL(number, below)                                           \
    NOINLINE static void even_##number(unsigned path) { CALL(below); } \
    NOINLINE static void odd_##number(unsigned path) { CALL(below); }

LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)
LEVEL(13, 12)
LEVEL(14, 13)
LEVEL(15, 14)
LEVEL(16, 15)
LEVEL(17, 16)

NOINLINE static void start(unsigned path) { CALL(17); }

int main(int argc, char **argv) {
    unsigned sites = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    for (unsigned round = 0; round < 3; round++)
        for (unsigned path = 0; path < sites; path++) start(path);
    printf("%u\n", sites);
    return 0;
}
