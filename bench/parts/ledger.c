/* Entering a block into the ledger and taking it out again: few blocks, whose records stay in the
 * cache, and many, whose records do not. */
#include "part.h"

enum { FEW = 64, MANY = 1 << 20 };

static void *g_blocks[MANY];
static uint32_t g_mask;

static void put_and_take(long times) {
    static uint64_t state = 88172645463325252u;
    for (long i = 0; i < times; i++) {
        void *block = g_blocks[next_random(&state) & g_mask];
        enter_block(block, 256);
        seen((void *)take_block(block));
    }
}

static void choose(long times) {
    static uint64_t state = 88172645463325252u;
    for (long i = 0; i < times; i++) seen(g_blocks[next_random(&state) & g_mask]);
}

static double among(uint32_t blocks) {
    g_mask = blocks - 1;
    return best_of(put_and_take, 2000) - best_of(choose, 2000);
}

int main(void) {
    start_recording();
    for (long i = 0; i < MANY; i++) g_blocks[i] = malloc_unseen(256);
    tell("ledger", among(FEW));
    tell("ledger_many", among(MANY));
    return 0;
}
