/* A timer whose handler jumps out of whatever was going on, the recorder included; then, in peace,
 * a thousand blocks more. Needs the signal-safe allocator of bump_allocator.c below us.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

#include "site.h"

static sigjmp_buf g_back;
static volatile int g_jumps;

static void jump(int signal) {
    (void)signal;
    g_jumps++;
    siglongjmp(g_back, 1);
}

SITE void site_during(int depth) {
    if (depth) {
        site_during(depth - 1);
        return;
    }
    void *p = malloc(10);
    KEEP(p);
    free(p);
}

SITE void site_after(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

int main(void) {
    struct sigaction action = {.sa_handler = jump};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    site_during(0); /* a jump out of the start of the recording would be the end of it */
    if (!sigsetjmp(g_back, 1)) setitimer(ITIMER_REAL, &often, NULL);
    while (g_jumps < 2000) site_during(g_jumps % 20);
    if (sigsetjmp(g_back, 1)) MUST(g_jumps >= 2000);
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 1000; i++) site_after();
    say("jumped");
    return 0;
}
