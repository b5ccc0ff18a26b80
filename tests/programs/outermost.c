/* One function, called by all that may call a program's: before main, by main, which calls itself, after
 * it, as a thread's function and as what ends one. Its stacks differ in their outermost frames only.
 *
 * build: -pthread
 * expect: site_leaf allocations=650 frees=650
 */
#include <pthread.h>

#include "site.h"

enum { TIMES = 50 };

SITE void site_leaf(void) {
    void *p = malloc(24);
    KEEP(p);
    free(p);
}

SITE void leaves(void) {
    for (int i = 0; i < TIMES; i++) site_leaf();
    __asm__ volatile("");
}

__attribute__((constructor)) static void first_constructor(void) { leaves(); }
__attribute__((constructor)) static void second_constructor(void) { leaves(); }

/* As whoever calls it would have it. */
static void (*const g_by_status)(int, void *) = (void (*)(int, void *))(void *)leaves;
static void (*const g_by_key)(void *) = (void (*)(void *))(void *)leaves;

static pthread_key_t g_key;

SITE void *thread(void *data) {
    pthread_setspecific(g_key, &g_key);
    leaves();
    return data;
}

static void run_thread(void) {
    pthread_t id;
    MUST(pthread_create(&id, NULL, thread, NULL) == 0);
    MUST(pthread_join(id, NULL) == 0);
}

int main(int argc, char **argv) {
    leaves();
    if (argc > 1) return 0;
    char *again[] = {argv[0], argv[0], NULL};
    MUST(pthread_key_create(&g_key, g_by_key) == 0);
    MUST(atexit(leaves) == 0 && atexit(leaves) == 0 && on_exit(g_by_status, NULL) == 0);
    MUST(main(2, again) == 0 && main(2, again) == 0);
    for (int i = 0; i < 2; i++) run_thread();
    site_leaf(); /* the very outermost */
    for (int i = 1; i < TIMES; i++) site_leaf();
    return 0;
}
