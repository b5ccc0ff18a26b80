/* A heap that only grows, slowly: a hundred steps of 10 kB, five milliseconds each.
 * expect: site_step allocations=1000 frees=0 bytes=1000000 peak_bytes=1000000
 */
#include "site.h"

SITE void site_step(void) {
    for (int i = 0; i < 10; i++) {
        void *p = malloc(1000);
        KEEP(p);
    }
}

int main(void) {
    for (int i = 0; i < 100; i++) {
        site_step();
        usleep(5000);
    }
    return 0;
}
