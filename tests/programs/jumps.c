/* longjmp and siglongjmp out of deep stacks and out of handlers; later stacks are the right ones.
 * build: -Wno-infinite-recursion
 * expect: site_deep allocations=50 frees=0 bytes=500
 * expect: site_shallow allocations=50 frees=50 bytes=1000
 * expect: site_handler allocations=50 frees=0 bytes=350
 */
#include <setjmp.h>
#include <signal.h>

#include "site.h"

static jmp_buf g_back;
static sigjmp_buf g_signal_back;

SITE int site_deep(int depth) {
    if (depth) return site_deep(depth - 1) + 1;
    void *p = malloc(10);
    KEEP(p);
    longjmp(g_back, 1);
}

SITE void site_shallow(void) {
    void *p = malloc(20);
    KEEP(p);
    free(p);
}

SITE void site_handler(int signal) {
    (void)signal;
    void *p = malloc(7);
    KEEP(p);
    siglongjmp(g_signal_back, 1);
}

int main(void) {
    signal(SIGUSR1, site_handler);
    for (volatile int i = 0; i < 50; i++) {
        if (!setjmp(g_back)) site_deep(i);
        if (!sigsetjmp(g_signal_back, 1)) raise(SIGUSR1);
        site_shallow();
    }
    say("jumped");
    return 0;
}
