/* Forked children: each has a recording of its own, the parent's stays as it was.
 * build: -pthread
 * case: plain
 * case: raw
 * case: from_thread
 * case: free_only
 * case: silent
 * case: grandchild
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "site.h"

enum { INHERITED = 20 };
static void *g_inherited[INHERITED];

SITE void site_parent_before(void) {
    for (int i = 0; i < INHERITED; i++) g_inherited[i] = malloc(100);
}

SITE void site_parent_after(void) {
    void *p = malloc(70);
    KEEP(p);
}

SITE void site_child(int n) {
    for (int i = 0; i < n; i++) {
        void *p = malloc(10);
        KEEP(p);
    }
}

SITE void *site_grown(void *p) {
    p = realloc(p, 5000);
    KEEP(p);
    return p;
}

static void free_inherited(int n) {
    for (int i = 0; i < n; i++) free(g_inherited[i]);
}

static int child(const char *how) {
    if (!strcmp(how, "silent")) return 11;
    if (!strcmp(how, "free_only")) {
        free_inherited(INHERITED);
        return 12;
    }
    site_child(5);
    free_inherited(3);
    g_inherited[3] = site_grown(g_inherited[3]);
    MUST(g_inherited[3]);
    return 13;
}

static int finish(pid_t pid) {
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    say("child ended with %#x", status);
    return 0;
}

static pid_t start(const char *how) {
    return !strcmp(how, "raw") ? (pid_t)syscall(SYS_fork) : fork();
}

static void *run(void *how) {
    pid_t pid = start(how);
    if (pid) {
        finish(pid);
        return NULL;
    }
    if (!strcmp(how, "grandchild")) {
        pid = fork();
        if (pid) {
            site_child(2);
            exit(finish(pid));
        }
    }
    _exit(child(how));
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    site_parent_before();
    pthread_t thread;
    if (!strcmp(argv[1], "from_thread")) {
        MUST(pthread_create(&thread, NULL, run, argv[1]) == 0);
        pthread_join(thread, NULL);
    } else {
        run(argv[1]);
    }
    site_parent_after();
    free_inherited(INHERITED);
    return 0;
}
