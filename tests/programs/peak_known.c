/* The same as peak.c where all is known: stacks, sizes and lifetimes have come before, so that each event
 * goes the short way, the first fall from the peak too. That opens once the clock has stepped a few times.
 * expect: site_base allocations=500000 frees=500000 bytes=50000000 peak_bytes=0 peak_blocks=0
 * expect: site_rise allocations=1300 frees=1300 bytes=1300000 peak_bytes=200000 peak_blocks=200
 */
#include "site.h"

MAKER(site_base, 100)
MAKER(site_rise, 1000)

/* Volatile: one call for all. */
static volatile int g_counts[12] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 200, 100};

static __attribute__((noinline, noclone)) void rise_and_fall(int count) {
    void *blocks[200];
    for (int i = 0; i < count; i++) blocks[i] = site_rise();
    while (count) free(blocks[--count]);
}

int main(void) {
    for (int i = 0; i < 500000; i++) free(site_base());
    for (int i = 0; i < 12; i++) rise_and_fall(g_counts[i]);
    return 0;
}
