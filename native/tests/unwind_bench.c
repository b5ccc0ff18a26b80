/* What a frame costs: the same stack again and again, and stacks that differ from walk to walk. */
#define _GNU_SOURCE
#include "unwind_check.h"

#include <time.h>

#define KEEP __attribute__((noinline, noclone))
#define WALKS 200
#define ROUNDS 2000

static volatile int g_sink;
static double g_least;
static uint32_t g_depth;

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

KEEP static void measure_same(void) {
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < WALKS; i++) hg_walk(&tls_walker, &caller, 512);
        double passed = (now_ns() - start) / WALKS;
        if (passed < g_least) g_least = passed;
    }
    g_depth = tls_walker.depth;
}

static uint64_t g_path, g_random = 88172645463325252u;
static double g_passed, g_frames;

KEEP static void measure_once(void) {
    struct hg_caller caller = CALLER_OF_THIS_FUNCTION();
    double start = now_ns();
    hg_walk(&tls_walker, &caller, 512);
    g_passed += now_ns() - start;
    g_frames += tls_walker.depth;
}

/* Eight functions with frames of different sizes and different saved registers. */
static void descend(int depth, void (*leaf)(void));
#define LEVEL(name, size, ...)                             \
    KEEP static void name(int depth, void (*leaf)(void)) { \
        volatile char memory[size];                        \
        int a = depth * 3, b = depth ^ 5, c = depth + 7;   \
        memory[0] = (char)depth;                           \
        if (depth) descend(depth - 1, leaf);               \
        else leaf();                                       \
        g_sink = memory[0];                                \
        __VA_ARGS__;                                       \
        (void)a, (void)b, (void)c;                         \
    }
LEVEL(level0, 16)
LEVEL(level1, 40, g_sink = a)
LEVEL(level2, 100, g_sink = a + b)
LEVEL(level3, 300, g_sink = a * b + c)
LEVEL(level4, 24, g_sink = b)
LEVEL(level5, 72, g_sink = c * a)
LEVEL(level6, 500)
LEVEL(level7, 1000, g_sink = a - c)

static void descend(int depth, void (*leaf)(void)) {
    static void (*const levels[])(int, void (*)(void)) = {level0, level1, level2, level3,
                                                          level4, level5, level6, level7};
    levels[g_path >> (depth * 3 % 61) & 7](depth, leaf);
}

int main(void) {
    start_unwinder();
    for (int depth = 4; depth <= 60; depth = depth * 2) {
        g_least = 1e9;
        g_path = g_random;
        descend(depth, measure_same);
        printf("the same stack, depth %3u: %6.1f ns, %.2f ns per frame\n", g_depth, g_least,
               g_least / g_depth);
    }
    double clock_cost = 1e9;
    for (int i = 0; i < 100000; i++) {
        double start = now_ns(), passed = now_ns() - start;
        if (passed < clock_cost) clock_cost = passed;
    }
    double least = 1e9;
    for (int round = 0; round < 40; round++) {
        g_passed = g_frames = 0;
        for (int i = 0; i < 1000; i++) {
            g_random ^= g_random << 13, g_random ^= g_random >> 7, g_random ^= g_random << 17;
            g_path = g_random;
            descend(24, measure_once);
        }
        double cost = (g_passed - 1000 * clock_cost) / g_frames;
        if (cost < least) least = cost;
    }
    printf("random stacks, depth %u: %.2f ns per frame\n", tls_walker.depth, least);
    return 0;
}
