/* Loads and unloads two libraries again and again while threads allocate from deep stacks.
 * build: -ldl -pthread
 */
#include <dlfcn.h>
#include <pthread.h>

#include "site.h"

SITE void *site_busy(int depth) {
    void *p = depth ? site_busy(depth - 1) : malloc(60);
    KEEP(p);
    return p;
}

static void *work(void *unused) {
    for (int i = 0; i < 20000; i++) free(site_busy(i % 30));
    return unused;
}

static void visit(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    MUST(library);
    void *(*twin)(void) = (void *(*)(void))dlsym(library, "twin");
    MUST(twin && twin());
    dlclose(library);
}

int main(int argc, char **argv) {
    MUST(argc == 3);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) MUST(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 100; i++) visit(argv[1]), visit(argv[2]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    say("done");
    return 0;
}
