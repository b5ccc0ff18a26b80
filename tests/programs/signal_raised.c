/* A handler that allocates, run where the program is not inside the allocator: nothing is lost.
 * expect: site_handler allocations=2000 frees=1000 bytes=100000 temporary=1000
 * expect: site_main allocations=1000 frees=1000 bytes=20000 temporary=0
 */
#include <signal.h>

#include "site.h"

SITE void site_handler(int signal) {
    (void)signal;
    void *p = malloc(50), *q = malloc(50);
    KEEP(p);
    free(q);
}

SITE void site_main(void) {
    void *p = malloc(20);
    KEEP(p);
    raise(SIGUSR1);
    free(p);
}

int main(void) {
    signal(SIGUSR1, site_handler);
    for (int i = 0; i < 1000; i++) site_main();
    say("handled");
    return 0;
}
