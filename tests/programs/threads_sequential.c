/* A thousand threads, one after the other: each allocates, hands its block on and ends.
 * build: -pthread
 * expect: site_thread allocations=1000 frees=990 bytes=24000 live_blocks=10 live_bytes=240
 */
#include <pthread.h>

#include "site.h"

SITE void *site_thread(void *previous) {
    void *p = malloc(24);
    KEEP(p);
    free(previous);
    return p;
}

int main(void) {
    void *block = NULL;
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, site_thread, i % 100 ? block : NULL) == 0);
        MUST(pthread_join(thread, &block) == 0);
    }
    say("a thousand threads");
    return 0;
}
