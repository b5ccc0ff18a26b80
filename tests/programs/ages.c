/* Blocks of known ages: each says when it was born, in nanoseconds of the wall clock.
 * expect: site_old allocations=1 frees=1 bytes=10
 * expect: site_resized allocations=1 frees=0 bytes=1000 live_blocks=1
 * expect: site_young allocations=1 frees=0 bytes=30 live_blocks=1
 */
#include <time.h>

#include "site.h"

static int g_fd = -1; /* times differ from run to run, stdout must not: they go where told */

static void *born(void *p) {
    struct timespec now;
    char line[100];
    clock_gettime(CLOCK_REALTIME, &now);
    int n = snprintf(line, sizeof line, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
    if (g_fd >= 0) MUST(write(g_fd, line, (size_t)n) == n);
    return p;
}

SITE void *site_old(void) {
    void *p = malloc(10);
    KEEP(p);
    return born(p);
}

SITE void *site_resized(void *p) {
    p = realloc(p, 1000);
    KEEP(p);
    return p;
}

SITE void *site_young(void) {
    void *p = malloc(30);
    KEEP(p);
    return born(p);
}

int main(int argc, char **argv) {
    if (argc > 1) g_fd = atoi(argv[1]);
    void *old = site_old();
    usleep(100000);
    void *young = site_young();
    usleep(50000);
    old = site_resized(old);
    KEEP(old);
    KEEP(young);
    return 0;
}
