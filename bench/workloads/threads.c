/* Threads allocating at once: threads private|handoff|spin THREADS OPERATIONS ROUNDS
 *
 * `private`: each thread keeps a window of blocks and replaces random ones; an operation is one free
 * and one malloc. `handoff`: each of two threads allocates a boxful of blocks for the other, then both
 * free what they were given; an operation is one block passed on. One thread alone passes them to
 * itself. Both fill their boxes at the same time and both empty them at the same time: one that only
 * allocates beside one that only frees would mostly show how they meet at the C library's locks.
 * Sizes are from 16 to 1,024 bytes, and who gets a block fills in its head, as a constructor does;
 * who is handed one reads it.
 * `spin`: malloc and free of one block that nobody looks at, which no program does, but which hides
 * nothing of what a tool adds.
 *
 * Threads are kept on one processor each, in turn, and start together: left alone they may spend a
 * short round on the same one, and a round shows either both or none of them at work.
 *
 * OPERATIONS are per thread. Reports CPU nanoseconds and, for throughput,
 * elapsed ones, from the first thread's start to the last one's end. Each thread reads its own
 * clock: the process's lags behind by what other processors have not yet accounted for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "report.h"

enum { MAX_THREADS = 256, WINDOW = 512, BOX = 512, SMALLEST = 16, LARGEST = 1024, HEAD = 64 };

/* What a thread passes on, and how often it was filled by the one and emptied by the other. */
struct box {
    _Alignas(64) atomic_long filled;
    _Alignas(64) atomic_long emptied;
    void *blocks[BOX];
};

/* What one thread has to itself. */
struct own {
    long index;
    uint64_t random;
    void *window[WINDOW];
};

static struct box g_boxes[MAX_THREADS];
static pthread_barrier_t g_start, g_end;
static atomic_long g_awake; /* threads past g_start, all rounds together */
static long g_threads, g_operations, g_rounds;
static void (*g_work)(struct own *);
static struct span {
    double cpu_ns, start_ns, end_ns;
} g_spans[MAX_THREADS]; /* of the current round, by thread */

static inline void *make_block(uint64_t *state) {
    size_t size = SMALLEST + next_random(state) % (LARGEST - SMALLEST + 1);
    void *block = seen(malloc(size));
    return memset(block, 1, size < HEAD ? size : HEAD);
}

__attribute__((noinline, noclone)) static void replace_in_window(struct own *own) {
    for (long i = 0; i < g_operations; i++) {
        void **block = &own->window[next_random(&own->random) % WINDOW];
        free(*block);
        *block = make_block(&own->random);
    }
}

__attribute__((noinline, noclone)) static void spin(struct own *own) {
    (void)own;
    for (long i = 0; i < g_operations; i++) free(seen(malloc(256)));
}

/* Until *counter is at least `wanted`; a waiter soon makes room for whoever it waits for. */
static void wait_for(atomic_long *counter, long wanted) {
    for (long tries = 1; atomic_load_explicit(counter, memory_order_acquire) < wanted; tries++) {
        if (tries % 256 == 0) sched_yield();
        else __builtin_ia32_pause();
    }
}

__attribute__((noinline, noclone)) static void fill(struct box *box, uint64_t *state) {
    for (long i = 0; i < BOX; i++) box->blocks[i] = make_block(state);
    atomic_fetch_add_explicit(&box->filled, 1, memory_order_release);
}

__attribute__((noinline, noclone)) static void empty(struct box *box) {
    for (long i = 0; i < BOX; i++) {
        char *block = box->blocks[i];
        if (*block != 1) abort();
        free(block);
    }
    atomic_fetch_add_explicit(&box->emptied, 1, memory_order_release);
}

static void pass_on(struct own *own) {
    struct box *mine = &g_boxes[own->index];
    struct box *given = &g_boxes[g_threads > 1 ? own->index ^ 1 : own->index];
    for (long done = 0; done < g_operations; done += BOX) {
        fill(mine, &own->random);
        wait_for(&given->filled, mine->filled);
        empty(given);
        wait_for(&mine->emptied, mine->filled);
    }
}

static void stay_on_processor(long index) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)(index % sysconf(_SC_NPROCESSORS_ONLN)), &set);
    sched_setaffinity(0, sizeof set, &set); /* where it is not allowed the kernel decides */
}

static void start_together(long round) {
    pthread_barrier_wait(&g_start);
    atomic_fetch_add(&g_awake, 1);
    wait_for(&g_awake, (round + 1) * g_threads);
}

static void *thread(void *context) {
    long index = (long)context;
    stay_on_processor(index);
    struct own own = {index, 88172645463325252u + (uint64_t)index * 7919, {0}};
    for (long round = 0; round < g_rounds; round++) {
        start_together(round);
        double start_ns = wall_ns(), cpu_start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        g_work(&own);
        double used_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_start_ns;
        g_spans[index] = (struct span){used_ns, start_ns, wall_ns()};
        pthread_barrier_wait(&g_end);
    }
    for (long i = 0; i < WINDOW; i++) free(own.window[i]);
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

static void (*work_of(const char *kind))(struct own *) {
    if (!strcmp(kind, "private")) return replace_in_window;
    if (!strcmp(kind, "handoff")) return pass_on;
    return strcmp(kind, "spin") ? NULL : spin;
}

int main(int argc, char **argv) {
    g_work = work_of(argc < 2 ? "private" : argv[1]);
    g_threads = argument(argc, argv, 2, 2);
    g_operations = (argument(argc, argv, 3, 100000) + BOX - 1) / BOX * BOX;
    g_rounds = argument(argc, argv, 4, 10);
    if (!g_work || g_threads < 1 || g_threads > MAX_THREADS) return 2;
    if (g_work == pass_on && g_threads > 1 && g_threads % 2) return 2;
    struct rounds rounds = rounds_of(g_rounds);
    pthread_t ids[MAX_THREADS];
    pthread_barrier_init(&g_start, NULL, (unsigned)g_threads + 1);
    pthread_barrier_init(&g_end, NULL, (unsigned)g_threads + 1);
    for (long i = 0; i < g_threads; i++) {
        if (pthread_create(&ids[i], NULL, thread, (void *)i)) return 1;
    }
    double best_wall_ns = time_rounds(&rounds, g_threads * g_operations);
    for (long i = 0; i < g_threads; i++) pthread_join(ids[i], NULL);
    report(&rounds, g_threads * g_operations);
    printf("wall_ns %.3f\n", best_wall_ns);
    return 0;
}
