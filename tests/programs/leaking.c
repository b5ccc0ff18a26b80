/* The example that hyperthymesia comes with, in spirit: blocks of 100 bytes through three functions,
 * 61 of 100 freed, and a line on stdout now and then. It runs until it is told to end. */
#include <signal.h>
#include <time.h>

#include "site.h"

SITE void *site_inner(void) {
    void *p = malloc(100);
    KEEP(p);
    return p;
}

SITE void *site_outer(void) {
    void *p = site_inner();
    KEEP(p);
    return p;
}

SITE void site_parent_routine(void) {
    void *blocks[100];
    for (int i = 0; i < 100; i++) blocks[i] = site_outer();
    for (int i = 0; i < 61; i++) free(blocks[i]);
    for (int i = 61; i < 100; i++) KEEP(blocks[i]);
}

int main(void) {
    puts("leaking");
    site_parent_routine();
    for (;;) {
        puts("still running");
        fflush(stdout);
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
}
