/* Threads allocating at once: threads private|handoff THREADS OPERATIONS ROUNDS
 *
 * `private`: each thread keeps a window of blocks and replaces random ones; an operation is one free
 * and one malloc. `handoff`: of each two threads one allocates what the other frees, through a ring;
 * an operation is one block passed on. One thread alone does both sides. OPERATIONS are per thread
 * (per pair of threads). Reports CPU nanoseconds and, for throughput, elapsed ones, from the first
 * thread's start to the last one's end. Each thread reads its own clock: the process's lags behind
 * by what other processors have not yet accounted for. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "report.h"

enum { MAX_THREADS = 256, WINDOW = 512, RING = 1024 };

struct ring {
    _Alignas(64) atomic_long put;
    _Alignas(64) atomic_long taken;
    void *blocks[RING];
};

static struct ring g_rings[MAX_THREADS / 2 + 1];
static pthread_barrier_t g_start, g_end;
static long g_threads, g_operations, g_rounds;
static int g_is_private;
static struct span {
    double cpu_ns, start_ns, end_ns;
} g_spans[MAX_THREADS]; /* of the current round, by thread */

static size_t some_size(uint64_t *state) { return 16 + (next_random(state) & 511); }

__attribute__((noinline, noclone)) static void replace_in_window(void **window, uint64_t *state) {
    for (long i = 0; i < g_operations; i++) {
        void **block = &window[next_random(state) % WINDOW];
        free(*block);
        *block = seen(malloc(some_size(state)));
    }
}

__attribute__((noinline, noclone)) static void produce(struct ring *ring, long count,
                                                       uint64_t *state) {
    for (long i = ring->put, end = i + count; i < end; i++) {
        while (i - atomic_load_explicit(&ring->taken, memory_order_acquire) >= RING) sched_yield();
        ring->blocks[i % RING] = seen(malloc(some_size(state)));
        atomic_store_explicit(&ring->put, i + 1, memory_order_release);
    }
}

__attribute__((noinline, noclone)) static void consume(struct ring *ring, long count) {
    for (long i = ring->taken, end = i + count; i < end; i++) {
        while (atomic_load_explicit(&ring->put, memory_order_acquire) <= i) sched_yield();
        free(ring->blocks[i % RING]);
        atomic_store_explicit(&ring->taken, i + 1, memory_order_release);
    }
}

static void pass_on(long index, uint64_t *state) {
    struct ring *ring = &g_rings[index / 2];
    if (g_threads > 1 && index % 2) {
        consume(ring, g_operations);
    } else if (g_threads > 1) {
        produce(ring, g_operations, state);
    } else {
        for (long done = 0; done < g_operations; done += RING) {
            produce(ring, RING, state);
            consume(ring, RING);
        }
    }
}

static void *thread(void *context) {
    long index = (long)context;
    uint64_t state = 88172645463325252u + (uint64_t)index * 7919;
    void *window[WINDOW] = {0};
    for (long round = 0; round < g_rounds; round++) {
        pthread_barrier_wait(&g_start);
        double start_ns = wall_ns(), cpu_start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (g_is_private) replace_in_window(window, &state);
        else pass_on(index, &state);
        double used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start_ns;
        g_spans[index] = (struct span){used_ns, start_ns, wall_ns()};
        pthread_barrier_wait(&g_end);
    }
    for (long i = 0; i < WINDOW; i++) free(window[i]);
    return NULL;
}

static struct span whole_round(void) {
    struct span whole = g_spans[0];
    for (long i = 1; i < g_threads; i++) {
        whole.cpu_ns += g_spans[i].cpu_ns;
        if (g_spans[i].start_ns < whole.start_ns) whole.start_ns = g_spans[i].start_ns;
        if (g_spans[i].end_ns > whole.end_ns) whole.end_ns = g_spans[i].end_ns;
    }
    return whole;
}

/* All threads at once, round after round; returns elapsed ns per operation of the best one. */
static double time_rounds(struct rounds *rounds, long operations) {
    double best_ns = 1e300;
    for (long round = 0; round < g_rounds; round++) {
        pthread_barrier_wait(&g_start);
        pthread_barrier_wait(&g_end);
        struct span whole = whole_round();
        round_took(rounds, whole.cpu_ns, operations);
        double ns = (whole.end_ns - whole.start_ns) / (double)operations;
        if (ns < best_ns) best_ns = ns;
    }
    return best_ns;
}

int main(int argc, char **argv) {
    g_is_private = argc < 2 || !strcmp(argv[1], "private");
    g_threads = argument(argc, argv, 2, 2);
    g_operations = (argument(argc, argv, 3, 100000) + RING - 1) / RING * RING;
    g_rounds = argument(argc, argv, 4, 10);
    if (g_threads < 1 || g_threads > MAX_THREADS) return 2;
    if (!g_is_private && g_threads > 1 && g_threads % 2) return 2;
    long passing = g_is_private || g_threads == 1 ? g_threads : g_threads / 2;
    struct rounds rounds = rounds_of(g_rounds);
    pthread_t ids[MAX_THREADS];
    pthread_barrier_init(&g_start, NULL, (unsigned)g_threads + 1);
    pthread_barrier_init(&g_end, NULL, (unsigned)g_threads + 1);
    for (long i = 0; i < g_threads; i++) {
        if (pthread_create(&ids[i], NULL, thread, (void *)i)) return 1;
    }
    double best_wall_ns = time_rounds(&rounds, passing * g_operations);
    for (long i = 0; i < g_threads; i++) pthread_join(ids[i], NULL);
    report(&rounds, passing * g_operations);
    printf("wall_ns %.3f\n", best_wall_ns);
    return 0;
}
