/* Sites whose large blocks live for a moment and whose small ones live on: lifetimes, temporary blocks and
 * reallocs that move or stay depend on the size. Of the blocks that are left the large ones are young: so many
 * milliseconds at the most, which it says.
 */
#include <time.h>

#include "site.h"

enum { ROUNDS = 3000, SMALL = 64, LARGE = 992 };

SITE void *site_lived(size_t size) {
    void *block = malloc(size);
    MUST(block);
    return block;
}

/* A large one that grows by little stays where it is, a small one that doubles does not. */
SITE void *site_resized(void *block, size_t size) {
    block = realloc(block, size);
    MUST(block);
    return block;
}

static void wait_for(unsigned milliseconds) {
    struct timespec left = {.tv_nsec = milliseconds * 1000 * 1000};
    while (nanosleep(&left, &left)) continue;
}

static long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Small and large in turn; the compiler shall not make two calls of one. */
static size_t size_of_round(unsigned i) {
    size_t size = i % 2 ? LARGE : SMALL;
    KEEP(size);
    return size;
}

int main(void) {
    static void *kept[ROUNDS];
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = size_of_round(i);
        void *block = site_lived(size);
        if (size == SMALL) kept[i] = block;
        else free(block);
    }
    wait_for(12);
    for (unsigned i = 0; i < ROUNDS; i++) free(kept[i]);
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t size = size_of_round(i), more = size == SMALL ? 3 * SMALL : 4;
        void *block = malloc(size), *neighbour = malloc(SMALL);
        MUST(block && neighbour);
        free(site_resized(block, size + more));
        kept[i] = neighbour;
    }
    wait_for(36);
    long start_ms = now_ms();
    for (unsigned i = 0; i < ROUNDS / 2; i++) {
        void *young = site_lived(LARGE);
        KEEP(young);
    }
    say("%ld", now_ms() - start_ms + 1);
    return 0;
}
