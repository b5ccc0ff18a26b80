/* malloc and free without the real allocator, from a stack that repeats: all of it with five frames,
 * and what each frame more adds. */
#include "../workloads/descend.h"
#include "part.h"

enum { SHALLOW = 5, DEEP = 45 };

static double g_ns;

static void pair(long times) {
    for (long i = 0; i < times; i++) free(seen(malloc(256)));
}

__attribute__((noinline, noclone)) static void measure(void *unused) {
    (void)unused;
    g_ns = ns_of_hooks(pair, 2000);
}

int main(void) {
    start_recording();
    descend(SHALLOW, measure, NULL);
    double shallow_ns = g_ns;
    descend(DEEP, measure, NULL);
    tell("repeated", shallow_ns);
    tell("repeated_frame", (g_ns - shallow_ns) / (DEEP - SHALLOW));
    return 0;
}
