/* A server that shows titles: the master's over its arguments and environment, then one of its own in
 * each of two workers. One worker ends by itself, the other is killed a while later. */
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>

#include "site.h"

extern char **environ;
static char *g_start, *g_end;

SITE void site_block(void) {
    void *p = malloc(100);
    KEEP(p);
    free(p);
}

static void show(const char *title) {
    memset(g_start, 0, (size_t)(g_end - g_start));
    snprintf(g_start, (size_t)(g_end - g_start), "titled: %s process", title);
}

/* Long enough for a point of the timeline. */
static void work(void) {
    struct timespec moment = {.tv_nsec = 5000000};
    for (int i = 0; i < 100; i++) {
        site_block();
        nanosleep(&moment, NULL);
    }
}

static pid_t start(const char *title, bool is_killed) {
    pid_t pid = fork();
    if (pid) return pid;
    site_block();
    show(title);
    if (is_killed) work();
    if (is_killed) raise(SIGKILL);
    exit(0);
}

int main(int argc, char **argv) {
    (void)argc;
    site_block();
    g_start = argv[0];
    for (char **entry = environ; *entry; entry++) g_end = *entry + strlen(*entry);
    environ = NULL;
    show("master");
    pid_t first = start("worker", false), second = start("cache", true);
    int status;
    MUST(waitpid(first, &status, 0) == first);
    say("worker ended with %#x", status);
    MUST(waitpid(second, &status, 0) == second);
    say("cache ended with %#x", status);
    return 0;
}
