/* Call chains whose every frame is known, through all kinds of frames a compiler makes.
 * Each chain ends in a site; the test compares the names of all frames up to main.
 * build: -mavx
 */
#include <alloca.h>
#include <search.h>
#include <signal.h>

#include "site.h"

typedef void *(*maker)(size_t);

SITE void *site_leaf(size_t n) {
    void *p = malloc(n);
    KEEP(p);
    return p;
}

SITE void *big_frame(size_t n) {
    char room[20000];
    char *where = room;
    KEEP(where);
    void *p = site_leaf(n);
    KEEP(where);
    return p;
}

SITE void *alloca_frame(size_t n) {
    char *room = alloca(n % 1000 + 1);
    KEEP(room);
    void *p = big_frame(n);
    KEEP(room);
    return p;
}

/* A frame aligned more than the stack is: the caller's place is kept in a register (DRAP). */
SITE void *realigned_frame(size_t n) {
    char room[64] __attribute__((aligned(64)));
    char *where = room;
    KEEP(where);
    MUST((uintptr_t)where % 64 == 0);
    char *more = alloca(n % 100 + 1);
    KEEP(more);
    void *p = alloca_frame(n);
    KEEP(where);
    return p;
}

SITE void *many_arguments(size_t n, int a, int b, int c, int d, int e, int f, int g, int h) {
    volatile int sum = a + b + c + d + e + f + g + h;
    void *p = realigned_frame(n + (size_t)(sum - 36));
    KEEP(p);
    return p;
}

SITE void *variadic(size_t n, ...) {
    va_list list;
    va_start(list, n);
    double first = va_arg(list, double);
    void *p = many_arguments(n, 1, 2, 3, 4, 5, 6, 7, (int)first);
    KEEP(p);
    va_end(list);
    return p;
}

SITE void *through_pointer(maker make, size_t n) {
    void *p = make(n);
    KEEP(p);
    return p;
}

static size_t g_compared;

SITE int compare(const void *a, const void *b) {
    void *p = site_leaf(g_compared);
    KEEP(p);
    return *(const int *)a - *(const int *)b;
}

SITE void through_library(void) {
    int key = 3, table[] = {3};
    size_t count = 1;
    g_compared = 200;
    MUST(lfind(&key, table, &count, sizeof key, compare));
}

SITE void handler(int signal) {
    void *p = site_leaf((size_t)signal);
    KEEP(p);
}

SITE void through_signal(void) {
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
}

int main(void) {
    void *p = variadic(100, 8.0);
    KEEP(p);
    p = through_pointer(site_leaf, 300);
    KEEP(p);
    through_library();
    through_signal();
    return 0;
}
