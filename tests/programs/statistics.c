/* Asks for its own statistics by way of heapglass.h, and says them: a line for each question, with
 * calls, then for requested and usable bytes what was allocated, deallocated, is in use, and the peak.
 * build: -pthread
 */
#include "../../native/include/heapglass.h"

#include <malloc.h>
#include <pthread.h>

#include "site.h"

static void say_counts(const char *when, const struct heapglass_counts *c) {
    const struct heapglass_bytes *r = &c->requested, *u = &c->usable;
    say("%s %lu %lu %lu %lu %ld %ld %lu %lu %ld %ld", when, c->allocations, c->deallocations,
        r->allocated, r->deallocated, r->in_use, r->peak, u->allocated, u->deallocated, u->in_use,
        u->peak);
}

static void ask(const char *when) {
    struct heapglass_stats stats;
    int is_recorded = heapglass_get_stats(&stats);
    say("%s %d", when, is_recorded);
    say_counts("start", &stats.since_start);
    say_counts("reset", &stats.since_reset);
}

enum { THREADS = 4, ROUNDS = 3000 };

/* All threads hold their blocks at once, and then none: the peak is known to the byte. */
static void *work(void *barrier) {
    void *held[10];
    for (int i = 0; i < ROUNDS; i++) free(malloc(24));
    for (int i = 0; i < 10; i++) held[i] = malloc(1000);
    pthread_barrier_wait(barrier);
    for (int i = 0; i < 10; i++) free(held[i]);
    pthread_barrier_wait(barrier);
    for (int i = 0; i < ROUNDS; i++) free(malloc(24));
    return NULL;
}

static void run_threads(void) {
    pthread_t threads[THREADS];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) MUST(!pthread_create(&threads[i], NULL, work, &barrier));
    for (int i = 0; i < THREADS; i++) MUST(!pthread_join(threads[i], NULL));
}

int main(int argc, char **argv) {
    void *volatile p = malloc(1000);
    void *volatile q = calloc(10, 10);
    free(p);
    ask("first");
    heapglass_reset_stats();
    ask("reset");
    q = realloc(q, 24);
    p = malloc(5000);
    free(p);
    p = malloc(24);
    free(q);
    ask("after");
    heapglass_reset_stats();
    free(p);
    ask("below");
    if (argc > 1 && argv[1][0] == 't') {
        run_threads(); /* the first time threads come, libc allocates for them */
        heapglass_reset_stats();
        run_threads();
        ask("threads");
    }
    return 0;
}
