/* malloc+free from stacks that differ in where their words are: shapes DEPTH PAIRS ROUNDS
 *
 * A stack is DEPTH frames, half of them narrow and half broad, in any order: all reach malloc from the same place
 * and at the same depth in bytes, but no two have their return addresses at the same places. In between stands
 * what is no code, nor near it. They come in random order. */
#include "report.h"

enum { MAX_STACKS = 1 << 16, ORDER = 1 << 16, ROOM = 8 };

static uint32_t g_paths[MAX_STACKS], g_order[ORDER];

static void *go_on(uint32_t path, long frames);

__attribute__((noinline, noclone)) static void *narrow(uint32_t path, long frames) {
    void *block = go_on(path, frames);
    __asm__ volatile("");
    return block;
}

__attribute__((noinline, noclone)) static void *broad(uint32_t path, long frames) {
    uint64_t room[ROOM];
    for (uint64_t i = 0; i < ROOM; i++) room[i] = ~i << 40;
    __asm__ volatile("" : : "r"(room) : "memory");
    void *block = go_on(path, frames);
    __asm__ volatile("");
    return block;
}

__attribute__((noinline, noclone)) static void *end(void) { return seen(malloc(64)); }

static inline void *go_on(uint32_t path, long frames) {
    if (!frames) return end();
    return path & 1 ? broad(path >> 1, frames - 1) : narrow(path >> 1, frames - 1);
}

/* All numbers of so many bits of which half are set. */
static long find_paths(long bits) {
    long count = 0;
    for (uint32_t path = 0; path < 1u << bits; path++) {
        if (__builtin_popcount(path) == bits / 2) g_paths[count++] = path;
    }
    return count;
}

int main(int argc, char **argv) {
    long depth = argument(argc, argv, 1, 8), pairs = argument(argc, argv, 2, 100000);
    struct rounds rounds = rounds_of(argument(argc, argv, 3, 10));
    if (depth < 2 || depth > 16) return 2;
    uint64_t state = 88172645463325252u, at = 0, stacks = (uint64_t)find_paths(depth);
    for (long i = 0; i < ORDER; i++) g_order[i] = (uint32_t)(next_random(&state) % stacks);
    for (long round = 0; round < rounds.wanted; round++) {
        round_start(&rounds);
        for (long i = 0; i < pairs; i++) free(go_on(g_paths[g_order[at++ % ORDER]], depth));
        round_end(&rounds, pairs);
    }
    report(&rounds, pairs);
    return 0;
}
