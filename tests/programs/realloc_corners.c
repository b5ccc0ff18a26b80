/* realloc: growing where it is, moving, shrinking, to nothing, from nothing, to the same size.
 * expect: site_start allocations=4 frees=4 bytes=400 live_blocks=0
 * expect: site_end allocations=1 frees=1 bytes=50000 live_blocks=0
 * expect: site_shrink allocations=1 frees=0 bytes=40 in_place=1 moved=0 live_blocks=1 live_bytes=40
 * expect: site_grow allocations=1 frees=0 bytes=200000 in_place=0 moved=1 live_bytes=200000
 * expect: site_last allocations=1 frees=0 bytes=90000 in_place=1 moved=0 live_blocks=1
 * expect: site_nothing allocations=0 frees=0
 * expect: site_wall allocations=1 frees=0 bytes=8
 */
#include <malloc.h>

#include "site.h"

SITE void *site_start(void) {
    void *p = malloc(100);
    memset(p, 'x', 100);
    return p;
}

SITE void *site_end(void) { /* too large for any freed gap, so it borders on the heap's end */
    char *p = malloc(50000);
    memset(p, 'y', 50000);
    return p;
}

SITE void *site_wall(void) {
    void *p = malloc(8);
    KEEP(p);
    return p;
}

SITE void *site_shrink(void *p) {
    p = realloc(p, 40);
    KEEP(p);
    return p;
}

SITE void *site_grow(void *p) {
    p = realloc(p, 200000);
    KEEP(p);
    return p;
}

SITE void *site_last(void *p) {
    p = realloc(p, 90000);
    KEEP(p);
    return p;
}

SITE void *site_nothing(void *p) {
    p = realloc(p, 0);
    KEEP(p);
    return p;
}

int main(void) {
    void *shrinks = site_start(), *grows = site_start(), *goes = site_start();
    void *wall = site_wall();
    void *freed = site_start();
    free(freed);
    char *same = site_shrink(shrinks);
    say("shrunk in place %d", same == shrinks);
    char *grown = site_grow(grows);
    say("grown in place %d, first byte %c", grown == grows, grown[0]);
    say("gone: %s", site_nothing(goes) ? "block" : "NULL");
    char *last = site_end(), *longer = site_last(last);
    say("last block grown in place %d, last byte %c", longer == last, longer[49999]);
    KEEP(wall);
    return 0;
}
