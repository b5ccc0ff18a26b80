/* Calls enough to fill any pipe, and what happens meanwhile, by the first argument: each pair is of a
 * block of 24 bytes; blocks of other sizes are counted on stdout.
 *
 * plain: nothing.  threads: four that do so, and one that never allocates, which says "alive" and a line
 * for each on stdin.  signals: a handler, every millisecond, that allocates 30 bytes.  jump: one that jumps out
 * of each call it strikes.  exit: SIGTERM's handler ends the program.  fork: a child for each line on stdin, while
 * another thread does the work.  vfork: one, that allocates.  close: a thread closes the descriptor for a line on stdin.
 * abort, assert, crash: what it does at the end.
 * build: -pthread */
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "site.h"

enum { USUAL_FD = 1022, PAIRS = 30000, MORE = 3000 };

static volatile uint64_t g_handled;
static volatile bool g_is_done;
static sigjmp_buf g_before;

SITE void site_pairs(int count) {
    for (int i = 0; i < count; i++) {
        void *p = malloc(24);
        KEEP(p);
        free(p);
    }
}

static void *work(void *unused) {
    site_pairs(PAIRS);
    return unused;
}

static bool read_line(void) {
    char octet;
    while (read(0, &octet, 1) == 1) {
        if (octet == '\n') return true;
    }
    return false;
}

static pthread_barrier_t g_all;

static void *work_together(void *unused) {
    pthread_barrier_wait(&g_all);
    return work(unused);
}

static void run_threads(void) {
    pthread_t threads[4];
    MUST(!pthread_barrier_init(&g_all, NULL, 5));
    for (int i = 0; i < 4; i++) MUST(!pthread_create(&threads[i], NULL, work_together, NULL));
    pthread_barrier_wait(&g_all);
    while (read_line()) say("alive");
    for (int i = 0; i < 4; i++) MUST(!pthread_join(threads[i], NULL));
}

static void handle(int signal) {
    (void)signal;
    void *p = malloc(30);
    KEEP(p);
    free(p);
    g_handled++;
}

static void jump(int signal) {
    (void)signal;
    g_handled++;
    siglongjmp(g_before, 1);
}

static void leave(int signal) {
    (void)signal;
    say("left");
    _exit(6);
}

static void on(int signal, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(!sigaction(signal, &action, NULL));
}

static void tick(bool is_on) {
    struct itimerval every = {{0, is_on ? 1000 : 0}, {0, is_on ? 1000 : 0}};
    MUST(!setitimer(ITIMER_REAL, &every, NULL));
}

static void run_signals(void) {
    on(SIGALRM, handle);
    tick(true);
    site_pairs(PAIRS);
    tick(false);
    say("%lu", (unsigned long)g_handled);
}

/* It is only struck while it waits, before the call: each call is made in the end. */
static void run_jumps(void) {
    volatile int done = 0;
    on(SIGUSR1, jump);
    sigsetjmp(g_before, 1);
    while (done < PAIRS) {
        void *p = malloc(24);
        KEEP(p);
        done++;
    }
    say("%lu", (unsigned long)g_handled);
}

static void run_forks(void) {
    pthread_t thread;
    MUST(!pthread_create(&thread, NULL, work, NULL));
    while (read_line()) {
        pid_t child = fork();
        if (child == 0) {
            site_pairs(3);
            _exit(0);
        }
        int status;
        MUST(child > 0);
        say("child");
        MUST(waitpid(child, &status, 0) == child && status == 0);
    }
    MUST(!pthread_join(thread, NULL));
}

static void run_vfork(void) {
    site_pairs(PAIRS / 6);
    pid_t child = vfork();
    if (child == 0) {
        close(USUAL_FD);
        site_pairs(PAIRS);
        _exit(0);
    }
    MUST(child > 0 && waitpid(child, NULL, 0) == child);
}

static void run_close(void) {
    pthread_t thread;
    MUST(!pthread_create(&thread, NULL, work, NULL));
    MUST(read_line() && close(USUAL_FD) == 0);
    MUST(!pthread_join(thread, NULL));
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "plain";
    if (!strcmp(what, "exit")) on(SIGTERM, leave);
    if (!strcmp(what, "threads")) run_threads();
    else if (!strcmp(what, "signals")) run_signals();
    else if (!strcmp(what, "jump")) run_jumps();
    else if (!strcmp(what, "fork")) run_forks();
    else if (!strcmp(what, "vfork")) run_vfork();
    else if (!strcmp(what, "close")) run_close();
    else if (!strcmp(what, "abort") || !strcmp(what, "assert") || !strcmp(what, "crash"))
        site_pairs(MORE);
    else site_pairs(PAIRS);
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "assert")) assert(!argv[1]);
    if (!strcmp(what, "crash")) raise(SIGSEGV);
    say("done");
    return 7;
}
