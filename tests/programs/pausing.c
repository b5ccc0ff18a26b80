/* Pauses recording by way of heapglass.h: what is allocated meanwhile is not recorded, what was
 * recorded before is freed, resized and moved.
 */
#include "../../native/include/heapglass.h"

#include <pthread.h>
#include <sys/wait.h>

#include "site.h"

enum { BEFORE = 10, DURING = 5, LARGE = 200000 };

static void *g_before[BEFORE], *g_large, *g_during[DURING];

SITE void site_before(void) {
    for (int i = 0; i < BEFORE; i++) g_before[i] = malloc(100);
    g_large = malloc(LARGE);
}

SITE void site_during(void) {
    for (int i = 0; i < DURING; i++) g_during[i] = malloc(1000);
    g_before[9] = realloc(g_before[9], 5000);
    for (int i = 0; i < 4; i++) free(g_before[i]);
    free(g_large);
}

SITE void *site_thread(void *unused) {
    free(g_before[4]);
    free(malloc(70));
    return unused;
}

SITE void site_after(void) {
    for (int i = 0; i < 3; i++) {
        void *p = malloc(30);
        KEEP(p);
    }
    free(g_during[0]);
    free(g_during[1]);
}

SITE void site_child(void) {
    void *p = malloc(11);
    KEEP(p);
}

/* It begins as its parent is. */
static void fork_child(void) {
    int status;
    pid_t pid = fork();
    if (!pid) {
        site_child();
        _exit(7);
    }
    MUST(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
}

int main(void) {
    pthread_t thread;
    site_before();
    heapglass_pause();
    heapglass_pause();
    site_during();
    usleep(50000);
    MUST(pthread_create(&thread, NULL, site_thread, NULL) == 0);
    pthread_join(thread, NULL);
    fork_child();
    heapglass_resume();
    site_after();
    fork_child();
    say("done");
    return 0;
}
