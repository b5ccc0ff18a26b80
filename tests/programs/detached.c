/* As dmalloc's own test: ten detached threads that allocate and free, and a main thread that ends by pthread_exit. Each
 * thread keeps a block. The process ends when stdin does.
 *
 * build: -pthread
 */
#include <poll.h>
#include <pthread.h>

#include "site.h"

#define THREADS 10
#define KEPT 5000

SITE void *site_kept(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    return p;
}

SITE void site_temporary(size_t size) {
    void *p = malloc(size);
    KEEP(p);
    free(p);
}

/* One of them looks at stdin. */
static void *work(void *kept) {
    struct pollfd input = {.fd = (size_t)kept == KEPT ? 0 : -1, .events = POLLIN};
    MUST(site_kept((size_t)kept));
    while (!poll(&input, 1, 1)) {
        for (size_t size = 1; size < 100; size++) site_temporary(size);
    }
    exit(4);
}

int main(void) {
    for (size_t i = 0; i < THREADS; i++) {
        pthread_t thread;
        MUST(!pthread_create(&thread, NULL, work, (void *)(KEPT + i)) && !pthread_detach(thread));
    }
    say("ready");
    pthread_exit(NULL);
}
