/* Sites of several sizes and lifetimes, in two threads; says what each really allocated, freed and
 * left: what estimates are compared with.
 * build: -pthread
 */
#include <pthread.h>

#include "site.h"

enum { KEPT = 4096 };

struct truth {
    const char *name;
    unsigned long allocations, bytes, frees, bytes_freed;
};

struct block {
    void *at;
    size_t size;
    struct truth *owner;
};

static struct truth g_truths[] = {{.name = "site_tiny"},  {.name = "site_small"},
                                  {.name = "site_mixed"}, {.name = "site_large"},
                                  {.name = "site_grown"}, {.name = "site_thread"}};
static struct block g_kept[KEPT];
static unsigned g_count;

static void *counted(struct truth *truth, void *block, size_t size) {
    MUST(block);
    truth->allocations++;
    truth->bytes += size;
    return block;
}

static void dropped(struct truth *truth, size_t size) {
    truth->frees++;
    truth->bytes_freed += size;
}

SITE void *site_tiny(size_t size) { return counted(&g_truths[0], malloc(size), size); }
SITE void *site_small(size_t size) { return counted(&g_truths[1], calloc(1, size), size); }
SITE void *site_mixed(size_t size) { return counted(&g_truths[2], malloc(size), size); }
SITE void *site_large(size_t size) { return counted(&g_truths[3], malloc(size), size); }
SITE void *site_thread(size_t size) { return counted(&g_truths[5], malloc(size), size); }

SITE void *site_grown(void *block, size_t from, size_t to) {
    if (block) dropped(&g_truths[4], from);
    return counted(&g_truths[4], realloc(block, to), to);
}

static void keep_or_free(struct truth *truth, void *block, size_t size, int keeps) {
    if (keeps && g_count < KEPT) {
        g_kept[g_count++] = (struct block){block, size, truth};
        return;
    }
    dropped(truth, size);
    free(block);
}

static void *in_thread(void *unused) {
    for (unsigned i = 0; i < 600; i++) {
        size_t size = 200 + i % 7 * 300;
        keep_or_free(&g_truths[5], site_thread(size), size, i % 3 == 0);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    for (unsigned i = 0; i < 6000; i++) {
        size_t tiny = i % 40, small = 64 + i % 5 * 16;
        keep_or_free(&g_truths[0], site_tiny(tiny), tiny, i % 5 == 0);
        keep_or_free(&g_truths[1], site_small(small), small, i % 4 == 0);
    }
    for (unsigned i = 0; i < 400; i++) {
        size_t mixed = i % 10 ? 100 + i % 900 : 9000, large = 20000 + i * 97 % 60000;
        keep_or_free(&g_truths[2], site_mixed(mixed), mixed, i % 2);
        if (i % 8 == 0) keep_or_free(&g_truths[3], site_large(large), large, i % 3 == 0);
    }
    void *grown = NULL;
    size_t size = 0;
    for (unsigned i = 1; i <= 120; i++) {
        grown = site_grown(grown, size, i * 100);
        size = i * 100;
    }
    keep_or_free(&g_truths[4], grown, size, 1);
    MUST(pthread_create(&thread, NULL, in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    /* Some blocks of the thread are freed by the other one. */
    for (unsigned i = 0; i < g_count; i += 5) {
        dropped(g_kept[i].owner, g_kept[i].size);
        free(g_kept[i].at);
    }
    for (unsigned i = 0; i < sizeof g_truths / sizeof *g_truths; i++) {
        const struct truth *t = &g_truths[i];
        say("%s %lu %lu %lu %lu", t->name, t->allocations, t->bytes, t->allocations - t->frees,
            t->bytes - t->bytes_freed);
    }
    return 0;
}
