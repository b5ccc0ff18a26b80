/* Threads with names of their own, and one without.
 * build: -pthread
 * expect: site_thread allocations=6 frees=0 bytes=60
 */
#include <pthread.h>

#include "site.h"

SITE void *site_thread(void *name) {
    if (name) pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 2; i++) {
        void *p = malloc(10);
        KEEP(p);
    }
    return NULL;
}

int main(void) {
    const char *names[] = {"reader", "fifteen-letters", NULL};
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, site_thread, (void *)names[i]) == 0);
        pthread_join(thread, NULL);
    }
    return 0;
}
