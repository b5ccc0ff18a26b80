/* Interprets a script of allocator calls in several threads and logs what came of each.
 *
 * Arguments: "ordered" or "free", the script, the log. A script line is
 *     thread kind slot site depth size alignment
 * with kind one of m(alloc) c(alloc) r(ealloc) a(ligned) f(ree) b(arrier). "ordered" runs the lines
 * one after the other in script order, each in its thread; "free" keeps the order within a thread
 * only, and a barrier line (one per thread) makes all wait for all. A log line is
 *     line old-pointer new-pointer usable-size tid wall-clock-ns-before wall-clock-ns-after
 * Everything the driver needs itself is static, so that all blocks are the script's.
 * build: -pthread -Wno-unused-result
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "site.h"

enum { MAX_OPS = 1 << 16, MAX_SLOTS = 1 << 12, MAX_THREADS = 64 };

struct op {
    unsigned thread, slot, site, depth;
    char kind;
    size_t size, alignment;
    void *old, *new;
    size_t usable;
    long long before, after;
    int tid;
};

typedef void *(*maker)(const struct op *, void *);

static struct op g_ops[MAX_OPS];
static unsigned g_count, g_threads;
static void *g_slots[MAX_SLOTS];
static sem_t g_turn[MAX_THREADS];
static pthread_barrier_t g_barrier;
static int g_is_ordered;

static inline __attribute__((always_inline)) void *make(const struct op *op, void *old) {
    void *p = NULL;
    switch (op->kind) {
    case 'm': p = malloc(op->size); break;
    case 'c': p = calloc(op->size, 1); break;
    case 'r': p = realloc(old, op->size); break;
    case 'a': posix_memalign(&p, op->alignment, op->size); break;
    case 'f': free(old); break;
    }
    KEEP(p);
    return p;
}

#define EACH_SITE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define DEFINE(n) \
    SITE void *site_##n(const struct op *op, void *old) { return make(op, old); }
EACH_SITE(DEFINE)
#define NAME(n) site_##n,
static const maker g_makers[] = {EACH_SITE(NAME)};
enum { MAKERS = sizeof g_makers / sizeof *g_makers };

SITE void *descend(unsigned depth, const struct op *op, void *old) {
    void *p = depth ? descend(depth - 1, op, old) : g_makers[op->site % MAKERS](op, old);
    KEEP(p);
    return p;
}

static long long wall_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void perform(struct op *op) {
    void **slot = &g_slots[op->slot];
    op->old = *slot;
    op->tid = gettid();
    if (op->kind == 'b') {
        pthread_barrier_wait(&g_barrier);
        return;
    }
    op->before = wall_clock();
    op->new = descend(op->depth, op, op->old);
    op->after = wall_clock();
    op->usable = malloc_usable_size(op->new);
    int is_failed_realloc = op->kind == 'r' && !op->new && op->size;
    *slot = is_failed_realloc ? op->old : op->new;
}

static void *run(void *argument) {
    unsigned self = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < g_count; i++) {
        if (g_ops[i].thread != self) continue;
        if (g_is_ordered && i && g_ops[i - 1].thread != self) sem_wait(&g_turn[self]);
        perform(&g_ops[i]);
        if (g_is_ordered && i + 1 < g_count && g_ops[i + 1].thread != self)
            sem_post(&g_turn[g_ops[i + 1].thread]);
    }
    return NULL;
}

static void parse(const char *path) {
    static char text[MAX_OPS * 64];
    int fd = open(path, O_RDONLY);
    MUST(fd >= 0 && read(fd, text, sizeof text - 1) > 0 && close(fd) == 0);
    for (char *at = text; *at; g_count++) {
        struct op *op = &g_ops[g_count];
        MUST(g_count < MAX_OPS);
        op->thread = (unsigned)strtoul(at, &at, 10);
        op->kind = at[1];
        at += 2;
        op->slot = (unsigned)strtoul(at, &at, 10);
        op->site = (unsigned)strtoul(at, &at, 10);
        op->depth = (unsigned)strtoul(at, &at, 10);
        op->size = strtoull(at, &at, 10);
        op->alignment = strtoull(at, &at, 10);
        MUST(op->slot < MAX_SLOTS && op->thread < MAX_THREADS && *at++ == '\n');
        if (op->thread >= g_threads) g_threads = op->thread + 1;
    }
}

static void write_log(const char *path) {
    static char text[MAX_OPS * 120];
    char *at = text;
    for (unsigned i = 0; i < g_count; i++)
        at += sprintf(at, "%u %zu %zu %zu %d %lld %lld\n", i, (size_t)g_ops[i].old,
                      (size_t)g_ops[i].new, g_ops[i].usable, g_ops[i].tid, g_ops[i].before,
                      g_ops[i].after);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MUST(fd >= 0 && write(fd, text, (size_t)(at - text)) == at - text);
}

int main(int argc, char **argv) {
    MUST(argc == 4);
    g_is_ordered = !strcmp(argv[1], "ordered");
    parse(argv[2]);
    pthread_t threads[MAX_THREADS];
    pthread_barrier_init(&g_barrier, NULL, g_threads);
    for (unsigned i = 0; i < g_threads; i++) sem_init(&g_turn[i], 0, 0);
    for (uintptr_t i = 1; i < g_threads; i++)
        MUST(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    run(NULL);
    for (unsigned i = 1; i < g_threads; i++) pthread_join(threads[i], NULL);
    write_log(argv[3]);
    return 0;
}
