/* malloc+free from many stacks in random order: stacks random|fan|wide STACKS DEPTH PAIRS ROUNDS
 *
 * A stack is a path of left and right turns through DEPTH recursive calls. `random` takes STACKS
 * random paths, which part at any frame; `fan` numbers them, so that they part in their innermost
 * frames and share the outer ones: the more stacks, the more frames. `wide` has up to 32 ways to go
 * in each of the four innermost frames, so that as many frames change however many stacks there are.
 * The turns themselves cost mispredicted branches, in every tool
 * alike. One block of each stack stays live, so that the process's size shows what sites cost. */
#include "report.h"

enum { MAX_STACKS = 1 << 20, ORDER = 1 << 20 };

static uint64_t g_paths[MAX_STACKS];
static uint32_t g_order[ORDER];
static void *g_kept[MAX_STACKS];

/* The two calls must stay two: what tells the stacks apart is where they return to. */
__attribute__((noinline, noclone)) static void *turn(uint64_t path, long depth) {
    void *block;
    if (depth <= 1) return seen(malloc(64));
    if (path >> (depth - 2) & 1) {
        block = turn(path, depth - 1);
        __asm__ volatile("# left");
    } else {
        block = turn(path, depth - 1);
        __asm__ volatile("# right");
    }
    return block;
}

enum { WIDE_FRAMES = 4 }; /* and 32 ways: as many as MAX_STACKS needs */

static uint64_t g_ways; /* in each of the wide frames */

static uint64_t ways_for(long stacks) {
    uint64_t ways = 1;
    while (ways * ways * ways * ways < (uint64_t)stacks) ways++;
    return ways;
}

#define WAY(n)                           \
    case n:                              \
        block = widen(path, frames - 1); \
        __asm__ volatile("# way " #n);   \
        break;
#define EIGHT_WAYS(a, b, c, d, e, f, g, h) WAY(a) WAY(b) WAY(c) WAY(d) WAY(e) WAY(f) WAY(g) WAY(h)

/* The innermost frames of a wide stack: the path's digits say which way to go. */
__attribute__((noinline, noclone)) static void *widen(uint64_t path, long frames) {
    void *block = NULL;
    if (!frames) return seen(malloc(64));
    uint64_t way = path % g_ways;
    path /= g_ways;
    switch (way) {
        EIGHT_WAYS(0, 1, 2, 3, 4, 5, 6, 7)
        EIGHT_WAYS(8, 9, 10, 11, 12, 13, 14, 15)
        EIGHT_WAYS(16, 17, 18, 19, 20, 21, 22, 23)
        EIGHT_WAYS(24, 25, 26, 27, 28, 29, 30, 31)
    }
    return block;
}

/* The outer frames of a wide stack, always the same. */
__attribute__((noinline, noclone)) static void *approach(uint64_t path, long depth) {
    void *block = depth > WIDE_FRAMES ? approach(path, depth - 1) : widen(path, WIDE_FRAMES);
    __asm__ volatile("");
    return block;
}

static uint64_t path_of(long stack, int is_random, uint64_t *state) {
    return is_random ? next_random(state) >> 8 : (uint64_t)stack;
}

static void *allocate(uint64_t path, long depth) {
    return g_ways ? approach(path, depth) : turn(path, depth);
}

int main(int argc, char **argv) {
    int is_random = argc < 2 || !strcmp(argv[1], "random");
    long stacks = argument(argc, argv, 2, 1024), depth = argument(argc, argv, 3, 15);
    long pairs = argument(argc, argv, 4, 100000);
    struct rounds rounds = rounds_of(argument(argc, argv, 5, 10));
    uint64_t state = 88172645463325252u;
    if (stacks < 1 || stacks > MAX_STACKS) return 2;
    if (argc > 1 && !strcmp(argv[1], "wide")) g_ways = ways_for(stacks);
    for (long i = 0; i < stacks; i++) g_paths[i] = path_of(i, is_random, &state);
    for (long i = 0; i < ORDER; i++)
        g_order[i] = (uint32_t)(next_random(&state) % (uint64_t)stacks);
    for (long i = 0; i < stacks; i++) g_kept[i] = allocate(g_paths[i], depth);
    uint64_t at = 0; /* goes on from round to round: each comes by other stacks if there are many */
    for (long round = 0; round < rounds.wanted; round++) {
        round_start(&rounds);
        for (long i = 0; i < pairs; i++) free(allocate(g_paths[g_order[at++ % ORDER]], depth));
        round_end(&rounds, pairs);
    }
    report(&rounds, pairs);
    for (long i = 0; i < stacks; i++) free(g_kept[i]);
    return 0;
}
