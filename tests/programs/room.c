/* Says how much it can allocate, in blocks of one size, before there is no room for one more. Arguments: the number of
 * threads, the size, and which of them takes it all (`first`: the main one, or `last`).
 * The others have allocated before, and live.
 *
 * build: -pthread
 */
#include <pthread.h>

#include "site.h"

#define MOST_THREADS 16

static pthread_barrier_t g_ready, g_done;
static size_t g_size, g_taker;

SITE void *site_block(void) {
    void *p = malloc(g_size);
    KEEP(p);
    return p;
}

static void *work(void *number) {
    size_t count = 0;
    free(site_block());
    pthread_barrier_wait(&g_ready);
    if ((size_t)number == g_taker) {
        while (site_block()) count++;
        say("%zu", count * g_size);
    }
    pthread_barrier_wait(&g_done);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread;
    MUST(argc == 4);
    unsigned count = (unsigned)atoi(argv[1]);
    g_size = (size_t)atol(argv[2]);
    g_taker = strcmp(argv[3], "first") ? count - 1 : 0;
    MUST(count <= MOST_THREADS && !pthread_barrier_init(&g_ready, NULL, count));
    MUST(!pthread_barrier_init(&g_done, NULL, count));
    for (size_t i = 1; i < count; i++) {
        if (pthread_create(&thread, NULL, work, (void *)i)) {
            say("no room for %u threads", count);
            return 3;
        }
    }
    work((void *)0);
    return 0;
}
