/* Blocks that live for known times: none, 24 ms, 200 ms; and sizes in known buckets.
 * expect: site_brief allocations=100 frees=100
 * expect: site_short allocations=10 frees=10
 * expect: site_long allocations=10 frees=10
 * expect: site_sizes allocations=12 frees=0 bytes=68617
 */
#include <time.h>

#include "site.h"

static void pass(int milliseconds) {
    struct timespec time = {0, milliseconds * 1000000L};
    while (nanosleep(&time, &time)) continue;
}

SITE void site_brief(void) {
    void *p = malloc(8);
    KEEP(p);
    free(p);
}

SITE void site_short(void) {
    void *p[10];
    for (int i = 0; i < 10; i++) p[i] = malloc(8);
    pass(24);
    for (int i = 0; i < 10; i++) free(p[i]);
}

SITE void site_long(void) {
    void *p[10];
    for (int i = 0; i < 10; i++) p[i] = malloc(8);
    pass(200);
    for (int i = 0; i < 10; i++) free(p[i]);
}

SITE void site_sizes(void) {
    size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 1023, 1024, 1025, 64, 65456};
    for (int i = 0; i < 12; i++) {
        void *p = malloc(sizes[i]);
        KEEP(p);
    }
}

int main(void) {
    for (int i = 0; i < 100; i++) site_brief();
    site_short();
    site_long();
    site_sizes();
    return 0;
}
