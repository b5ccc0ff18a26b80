/* A peak that is long over when the total falls from it, or when the program is killed.
 *   peak_time fall       rise, tell of it, wait, tell of an own block and wait, fall
 *   peak_time zero       the same, but a block of no size ends the rise
 *   peak_time kill       rise, fall, wait, rise higher, be killed at once
 * case: fall
 * case: zero
 */
#include "../../native/include/heapglass.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "site.h"

SITE void *site_rise(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

static void wait_a_little(void) { usleep(60000); }

static void rise_and_fall(size_t ending) {
    char *high = site_rise(50000);
    heapglass_mark("risen");
    wait_a_little();
    heapglass_alloc(high, 10); /* reads the clock, and changes no total */
    wait_a_little();
    heapglass_mark("later");
    if (!ending) free(site_rise(0));
    free(high);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "kill")) {
        for (int i = 0; i < 3; i++) free(site_rise(1000));
        wait_a_little();
        heapglass_mark("later");
        site_rise(60); /* a point of the timeline, below the peak */
        for (int i = 0; i < 100; i++) site_rise(5000);
        kill(getpid(), SIGKILL);
    }
    rise_and_fall(argc > 1 && !strcmp(argv[1], "zero") ? 0 : 1);
    return 0;
}
