/* Allocates and frees without end, from many sites and threads, until it is killed; or, given a
 * number, that many rounds. Says how many blocks each thread made.
 * build: -pthread
 */
#include <pthread.h>

#include "site.h"

enum { THREADS = 3, SLOTS = 500, DEPTHS = 30 };
static unsigned long g_rounds;

SITE void *site_churn(unsigned depth, size_t size) {
    void *p = depth ? site_churn(depth - 1, size) : malloc(size);
    KEEP(p);
    return p;
}

SITE void *site_resize(void *p, size_t size) {
    p = realloc(p, size);
    KEEP(p);
    return p;
}

static void *work(void *argument) {
    void *slots[SLOTS] = {0};
    unsigned chance = (unsigned)(uintptr_t)argument * 7919 + 1;
    unsigned long made = 0;
    for (unsigned long i = 0; !g_rounds || i < g_rounds; i++) {
        chance = chance * 1103515245 + 12345;
        void **slot = &slots[chance / 65536 % SLOTS];
        size_t size = chance / 4096 % (i % 50 ? 600 : 200000);
        if (*slot && i % 3 == 0) *slot = site_resize(*slot, size + 1);
        else if (*slot) free(*slot), *slot = NULL;
        else *slot = site_churn(chance / 256 % DEPTHS, size), made++;
    }
    return (void *)made;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    if (argc > 1) g_rounds = strtoul(argv[1], NULL, 10);
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *made;
        pthread_join(threads[i], &made);
        say("thread %d made %lu blocks", i, (unsigned long)made);
    }
    return 0;
}
