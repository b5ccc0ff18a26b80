/* Allocates and frees as fast as it can for some tenths of a second of processor time, then as many
 * blocks of 500 bytes as its second argument says, one each half millisecond of it.
 * case: 5 20
 */
#include <time.h>

#include "site.h"

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

SITE void site_pair(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    free(p);
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    double seconds = atof(argv[1]) / 10;
    while (processor_seconds() < seconds) {
        for (int i = 0; i < 1000; i++) site_pair(100);
    }
    for (long i = atol(argv[2]); i > 0; i--) {
        site_pair(500);
        seconds = processor_seconds() + 0.0005;
        while (processor_seconds() < seconds) continue;
    }
    return 0;
}
