/* Every way a program ends; the recording is whole after each.
 * build: -pthread
 * case: return
 * case: exit
 * case: _exit
 * case: _Exit
 * case: quick_exit
 * case: thread_exit
 * case: last_thread
 * case: abort
 * case: segv
 * case: kill
 * case: exit_in_handler
 * expect: site_before allocations=3 frees=1 bytes=330 live_blocks=2 live_bytes=220
 */
#include <pthread.h>
#include <signal.h>

#include "site.h"

static volatile int *volatile g_nowhere = (int *)8;

SITE void *site_before(void) {
    void *p = malloc(110);
    KEEP(p);
    return p;
}

static void leave(int signal) {
    (void)signal;
    exit(6);
}

static void *exit_from_thread(void *unused) {
    (void)unused;
    exit(4);
}

static void *outlive_main(void *main_thread) {
    pthread_join(*(pthread_t *)main_thread, NULL);
    exit(5);
}

static void exit_in_handler(void) {
    signal(SIGUSR1, leave);
    raise(SIGUSR1);
}

static void end(const char *how) {
    static pthread_t thread, self;
    self = pthread_self();
    if (!strcmp(how, "exit")) exit(3);
    if (!strcmp(how, "_exit")) _exit(7);
    if (!strcmp(how, "_Exit")) _Exit(9);
    if (!strcmp(how, "quick_exit")) quick_exit(8);
    if (!strcmp(how, "abort")) abort();
    if (!strcmp(how, "segv")) *g_nowhere = 1;
    if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(how, "exit_in_handler")) exit_in_handler();
    if (!strcmp(how, "thread_exit")) {
        MUST(pthread_create(&thread, NULL, exit_from_thread, NULL) == 0);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "last_thread")) {
        MUST(pthread_create(&thread, NULL, outlive_main, &self) == 0);
        pthread_exit(NULL);
    }
}

int main(int argc, char **argv) {
    MUST(argc == 2);
    void *a = site_before(), *b = site_before(), *c = site_before();
    free(b);
    KEEP(a);
    KEEP(c);
    say("ending by %s", argv[1]);
    end(argv[1]);
    return 2;
}
