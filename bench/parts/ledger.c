/* Entering a block into the ledger and taking it out again: few blocks, whose records stay in the
 * cache, and many, whose records do not. */
#include "part.h"

#include "ledger.h"

enum { FEW = 64, MANY = 1 << 20 };

static void *g_blocks[MANY];
static uint32_t g_mask;

static void put_and_take(long times) {
    static uint64_t state = 88172645463325252u;
    for (long i = 0; i < times; i++) {
        uintptr_t address = (uintptr_t)g_blocks[next_random(&state) & g_mask];
        struct hg_block replaced;
        hg_ledger_put(address, (struct hg_block){256, 2, 1}, &replaced);
        seen((void *)(uintptr_t)hg_ledger_take(address).size);
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
    for (long i = 0; i < MANY; i++) g_blocks[i] = g_real.malloc(256);
    tell("ledger", among(FEW));
    tell("ledger_many", among(MANY));
    return 0;
}
