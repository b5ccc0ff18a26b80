/* Allocates and frees for some tenths of a second of processor time, given as its argument, and says
 * how often. Of so many blocks as its second argument says, one is kept.
 * case: 6
 */
#include <time.h>

#include "site.h"

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

SITE void site_pair(size_t size, int keeps) {
    void *p = malloc(size);
    KEEP(p);
    if (!keeps) free(p);
}

int main(int argc, char **argv) {
    MUST(argc == 2 || argc == 3);
    unsigned long kept = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    double seconds = atof(argv[1]) / 10;
    unsigned long count = 0;
    while (processor_seconds() < seconds) {
        for (int i = 0; i < 1000; i++, count++) {
            site_pair(1 + count % 500, kept && count % kept == 0);
        }
    }
    say("%lu", count);
    return 0;
}
