/* Forks while other threads allocate all the time; every child allocates and ends by exit().
 * build: -pthread
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "site.h"

static atomic_bool g_stop;

SITE void *site_busy(void *unused) {
    (void)unused;
    while (!g_stop) {
        void *p = malloc(300);
        KEEP(p);
        free(p);
    }
    return NULL;
}

SITE void site_child(void) {
    for (int i = 0; i < 100; i++) {
        void *p = malloc(10);
        KEEP(p);
    }
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) MUST(pthread_create(&threads[i], NULL, site_busy, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        pid_t pid = fork();
        if (!pid) {
            site_child();
            exit(i);
        }
        int status;
        MUST(waitpid(pid, &status, 0) == pid);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == i);
    }
    g_stop = true;
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    say("thirty children");
    return 0;
}
