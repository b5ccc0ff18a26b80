/* malloc+free from many stacks in random order: stacks random|fan STACKS DEPTH PAIRS ROUNDS
 *
 * A stack is a path of left and right turns through DEPTH recursive calls. `random` takes STACKS
 * random paths, which part at any frame; `fan` numbers them, so that they part in their innermost
 * frames and share the outer ones. The turns themselves cost mispredicted branches, in every tool
 * alike. One block of each stack stays live, so that the process's size shows what sites cost. */
#include "report.h"

enum { MAX_STACKS = 1 << 20, ORDER = 1 << 16 };

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

static uint64_t path_of(long stack, int is_random, uint64_t *state) {
    return is_random ? next_random(state) >> 8 : (uint64_t)stack;
}

int main(int argc, char **argv) {
    int is_random = argc < 2 || !strcmp(argv[1], "random");
    long stacks = argument(argc, argv, 2, 1024), depth = argument(argc, argv, 3, 15);
    long pairs = argument(argc, argv, 4, 100000);
    struct rounds rounds = rounds_of(argument(argc, argv, 5, 10));
    uint64_t state = 88172645463325252u;
    if (stacks < 1 || stacks > MAX_STACKS) return 2;
    for (long i = 0; i < stacks; i++) g_paths[i] = path_of(i, is_random, &state);
    for (long i = 0; i < ORDER; i++)
        g_order[i] = (uint32_t)(next_random(&state) % (uint64_t)stacks);
    for (long i = 0; i < stacks; i++) g_kept[i] = turn(g_paths[i], depth);
    for (long round = 0; round < rounds.wanted; round++) {
        round_start(&rounds);
        for (long i = 0; i < pairs; i++) free(turn(g_paths[g_order[i % ORDER]], depth));
        round_end(&rounds, pairs);
    }
    report(&rounds, pairs);
    for (long i = 0; i < stacks; i++) free(g_kept[i]);
    return 0;
}
