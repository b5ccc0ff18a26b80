/* An arena of the program's own that tells of its blocks, some of them at the very address of the
 * block that they lie in; marks; threads; and a child.
 * build: -pthread
 * case: all
 */
#include "../../native/include/heapglass.h"

#include <pthread.h>
#include <sys/wait.h>

#include "site.h"

enum { ARENA = 100000, BLOCKS = 50, THREADS = 4 };

SITE char *site_arena(void) {
    char *arena = malloc(ARENA);
    KEEP(arena);
    return arena;
}

SITE void site_single(char *arena) {
    for (int i = 0; i < BLOCKS; i++) heapglass_alloc(arena + i * 16, 10);
    for (int i = 0; i < BLOCKS - 1; i++) heapglass_free(arena + i * 16);
    heapglass_free(arena); /* twice */
    heapglass_free(NULL);
}

SITE void site_pool(char *arena) {
    for (int i = 0; i < BLOCKS; i++) heapglass_pool_alloc(arena, arena + 5000 + i * 16, 8);
    for (int i = 0; i < BLOCKS; i++) heapglass_pool_alloc(arena + 1, arena + 7000 + i * 16, 4);
    heapglass_free(arena + 5000);
    heapglass_pool_free(arena);
    heapglass_pool_free(arena);
    heapglass_pool_free(NULL);
}

SITE void *site_thread(void *arena) {
    for (int i = 0; i < 1000; i++) {
        heapglass_alloc((char *)arena + i, 3);
        heapglass_free((char *)arena + i);
    }
    heapglass_alloc(arena, 5);
    return NULL;
}

SITE void site_threads(char *arena) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        MUST(!pthread_create(&threads[i], NULL, site_thread, arena + 20000 + 2000 * i));
    for (int i = 0; i < THREADS; i++) MUST(!pthread_join(threads[i], NULL));
}

SITE void site_again(char *arena) {
    heapglass_alloc(arena + 50000, 70);
    heapglass_alloc(arena + 50000, 80); /* the first one's end was not told */
    KEEP(arena);
}

SITE void site_paused(char *arena) {
    heapglass_pause();
    heapglass_alloc(arena + 60000, 90);
    heapglass_free(arena + (BLOCKS - 1) * 16); /* from before */
    heapglass_resume();
}

SITE void site_child(char *arena) {
    pid_t pid = fork();
    if (!pid) {
        heapglass_free(arena + 50000); /* the parent's */
        heapglass_alloc(arena + 70000, 11);
        heapglass_mark("in the child");
        exit(0);
    }
    MUST(waitpid(pid, NULL, 0) == pid);
}

int main(void) {
    heapglass_mark("start");
    char *arena = site_arena();
    site_single(arena);
    site_pool(arena);
    heapglass_mark("threads\n\x1b[1m");
    site_threads(arena);
    site_again(arena);
    site_paused(arena);
    site_child(arena);
    free(arena);
    heapglass_mark("");
    say("done");
    return 0;
}
