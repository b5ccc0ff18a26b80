/* Blocks of no bytes are blocks: distinct, counted, freed.
 * expect: site_zero allocations=5 frees=4 bytes=0 live_blocks=1 live_bytes=0 largest=0 smallest=0
 */
#include <malloc.h>

#include "site.h"

SITE void site_zero(void **out) {
    out[0] = malloc(0);
    out[1] = calloc(0, 100);
    out[2] = calloc(100, 0);
    out[3] = realloc(NULL, 0);
    out[4] = aligned_alloc(64, 0);
}

int main(void) {
    void *blocks[5];
    site_zero(blocks);
    for (int i = 0; i < 5; i++) {
        say("%d: %s usable %zu", i, blocks[i] ? "block" : "NULL", malloc_usable_size(blocks[i]));
        for (int k = 0; k < i; k++) MUST(blocks[i] != blocks[k]);
    }
    for (int i = 0; i < 4; i++) free(blocks[i]);
    free(NULL);
    say("usable size of nothing %zu", malloc_usable_size(NULL));
    return 0;
}
