/* Sixty-four threads at once, unordered: counters stay exact, blocks change hands at a barrier.
 * build: -pthread
 * expect: site_own allocations=64000 frees=64000 bytes=6400000 temporary=64000
 * expect: site_given allocations=6400 frees=6400 bytes=320000 temporary=64
 * expect: site_kept allocations=64 frees=0 bytes=2080 live_blocks=64 largest=64 smallest=1
 */
#include <pthread.h>

#include "site.h"

enum { THREADS = 64, GIFTS = 100 };

static pthread_barrier_t g_barrier;
static void *g_gifts[THREADS][GIFTS];

SITE void site_own(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = malloc(100);
        KEEP(p);
        free(p);
    }
}

SITE void site_given(int self) {
    for (int i = 0; i < GIFTS; i++) g_gifts[self][i] = malloc(50);
}

SITE void site_kept(int self) {
    void *p = malloc((size_t)self + 1);
    KEEP(p);
}

static void *work(void *argument) {
    int self = (int)(intptr_t)argument;
    site_own();
    site_given(self);
    free(g_gifts[self][GIFTS - 1]);
    pthread_barrier_wait(&g_barrier);
    for (int i = 0; i < GIFTS - 1; i++) free(g_gifts[(self + 1) % THREADS][i]);
    pthread_barrier_wait(&g_barrier);
    site_kept(self);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&g_barrier, NULL, THREADS);
    for (intptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    say("done");
    return 0;
}
