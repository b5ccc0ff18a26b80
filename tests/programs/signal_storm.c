/* Handlers that allocate whenever a timer strikes, also inside the recorder. Needs the signal-safe
 * allocator of bump_allocator.c below us, because glibc's own must not be re-entered.
 * Says how many blocks were made in all, by the handler and by the main loop. May be given the
 * seconds it shall take and the microseconds between two strikes.
 */
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#include "site.h"

static volatile unsigned long g_handled;

SITE void site_handler(int signal) {
    (void)signal;
    for (int i = 0; i < 4; i++) {
        void *p = malloc(40);
        KEEP(p);
        if (i % 2) free(p);
    }
    g_handled++;
}

SITE void *site_deep(int depth) {
    void *p = depth ? site_deep(depth - 1) : malloc(30);
    KEEP(p);
    return p;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    double until = seconds() + (argc > 1 ? atof(argv[1]) : 0.5);
    struct sigaction action = {.sa_handler = site_handler, .sa_flags = SA_RESTART};
    long period = argc > 2 ? atol(argv[2]) : 50;
    struct itimerval often = {{0, period}, {0, period}}, never = {{0, 0}, {0, 0}};
    unsigned long main_blocks = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (seconds() < until)
        for (int i = 0; i < 100; i++, main_blocks++) {
            void *p = site_deep((int)(main_blocks % 40));
            if (i % 3) free(p);
        }
    setitimer(ITIMER_REAL, &never, NULL);
    say("%lu %lu", main_blocks, 4 * g_handled);
    return 0;
}
