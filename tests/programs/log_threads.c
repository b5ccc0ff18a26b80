/* Threads that allocate, resize and free, some of it each other's, as fast as they can; then all
 * rests for a while, until a line comes on stdin.
 * build: -pthread */
#include <pthread.h>

#include "site.h"

enum { THREADS = 4, ROUNDS = 5000, KEPT = 64 };

static void *g_shared[KEPT];

SITE void *site_thread(void *argument) {
    uintptr_t random = (uintptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t size = random >> 40 & 1023;
        void *mine = malloc(size);
        if (i % 5 == 0) mine = realloc(mine, size * 2 + 1);
        void *theirs =
            __atomic_exchange_n(&g_shared[random >> 33 & (KEPT - 1)], mine, __ATOMIC_ACQ_REL);
        free(theirs);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        MUST(!pthread_create(&threads[i], NULL, site_thread, (void *)(i + 1)));
    for (size_t i = 0; i < THREADS; i++) MUST(!pthread_join(threads[i], NULL));
    void *last = malloc(4242);
    KEEP(last);
    say("resting");
    char line[16];
    if (read(0, line, sizeof line) < 0) return 1;
    return 0;
}
