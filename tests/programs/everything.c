/* A little of everything that a recording can hold: threads with names, a forked child, libraries
 * that come and go, blocks of all sizes, reallocs, temporary ones, a peak before the end, marks and
 * annotated blocks. The golden recordings of tests/golden are made with it.
 * build: -pthread -ldl
 * case: {twin_one} {twin_two}
 */
#include "../../native/include/heapglass.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include "site.h"

enum { WORKERS = 3, KEPT = 8 };

SITE void *site_worker(void *argument) {
    const char *name = argument;
    pthread_setname_np(pthread_self(), name);
    void *kept[KEPT];
    for (size_t i = 0; i < KEPT; i++) kept[i] = malloc((strlen(name) + i) << i);
    for (size_t i = 0; i < KEPT; i += 2) free(kept[i]);
    return kept[KEPT - 1];
}

SITE void site_threads(void) {
    static const char *const names[WORKERS] = {"reader", "writer", "writer"};
    for (int i = 0; i < WORKERS; i++) {
        pthread_t thread;
        void *left;
        MUST(!pthread_create(&thread, NULL, site_worker, (void *)names[i]));
        MUST(!pthread_join(thread, &left));
        if (i == 1) free(left);
    }
}

SITE void *site_sizes(void) {
    void *p = calloc(100, 10);
    p = realloc(p, 1010);
    p = realloc(p, 100000);
    for (int i = 0; i < 50; i++) free(malloc(60));
    void *aligned = memalign(4096, 5000), *large = malloc(3 << 20), *larger = malloc(40 << 20);
    KEEP(aligned);
    KEEP(larger);
    free(larger);
    KEEP(large);
    free(realloc(large, 5 << 20));
    return p;
}

SITE void site_annotated(void) {
    static char arena[1000];
    heapglass_mark("annotating");
    heapglass_alloc(arena, 100);
    heapglass_alloc(arena + 100, 200);
    heapglass_free(arena);
    heapglass_pool_alloc(&arena, arena + 300, 50);
    heapglass_pool_alloc(&arena, arena + 400, 60);
    heapglass_pool_free(&arena);
}

SITE void site_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    MUST(library);
    void *(*twin)(void) = (void *(*)(void))dlsym(library, "twin");
    MUST(twin && twin());
    dlclose(library);
}

SITE void site_child(void *inherited) {
    pid_t pid = fork();
    if (!pid) {
        void *own = malloc(77);
        KEEP(own);
        free(inherited);
        exit(5);
    }
    int status;
    MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
}

int main(int argc, char **argv) {
    void *sizes = site_sizes();
    site_threads();
    site_annotated();
    for (int i = 1; i < argc; i++) site_library(argv[i]);
    nanosleep(&(struct timespec){0, 60000000}, NULL);
    site_child(sizes);
    free(sizes);
    heapglass_mark("done");
    say("done");
    return 0;
}
