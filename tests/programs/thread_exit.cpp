/* Threads that still allocate while they end: thread_local and pthread_key destructors.
 * build: -std=c++17 -pthread
 * expect: site_thread_local allocations=20 frees=10 bytes=600 temporary=10
 * expect: site_key allocations=30 frees=30 bytes=1200
 * expect: site_body allocations=10 frees=10 bytes=2000
 */
#include <pthread.h>

#include "site.h"

static pthread_key_t g_key;

extern "C" SITE void site_thread_local() {
    void *kept = malloc(30);
    KEEP(kept);
    void *p = malloc(30);
    KEEP(p);
    free(p);
}

/* Sets its key again, so glibc runs it once more: three rounds. */
extern "C" SITE void site_key(void *value) {
    intptr_t round = (intptr_t)value;
    void *p = malloc(40);
    KEEP(p);
    if (round < 3) pthread_setspecific(g_key, (void *)(round + 1));
    free(p);
}

struct Local {
    int touched = 0;
    ~Local() { site_thread_local(); }
};
static thread_local Local t_local;

extern "C" SITE void *site_body() {
    void *p = malloc(200);
    KEEP(p);
    return p;
}

static void *run(void *) {
    t_local.touched = 1; /* the C library allocates, to remember the destructor */
    pthread_setspecific(g_key, (void *)1);
    return site_body();
}

int main() {
    pthread_key_create(&g_key, site_key);
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *block;
        MUST(pthread_create(&thread, nullptr, run, nullptr) == 0);
        pthread_join(thread, &block);
        free(block);
    }
    say("ten threads");
    return 0;
}
