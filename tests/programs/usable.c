/* Slack: what malloc_usable_size says beyond what was asked for, over all live blocks.
 * expect: site_blocks allocations=200 frees=100 bytes=299000 live_blocks=100
 */
#include <malloc.h>

#include "site.h"

SITE void *site_blocks(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

int main(void) {
    static void *blocks[200];
    size_t slack = 0;
    for (size_t i = 0; i < 200; i++) blocks[i] = site_blocks(i * 10 + 500);
    for (size_t i = 0; i < 200; i += 2) free(blocks[i]);
    for (size_t i = 1; i < 200; i += 2) slack += malloc_usable_size(blocks[i]) - (i * 10 + 500);
    say("slack %zu", slack);
    return 0;
}
