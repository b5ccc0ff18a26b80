/* A walk of the whole stack by rules, nothing remembered: one of ten frames, and what each frame
 * more adds. */
#include "../workloads/descend.h"
#include "part.h"

enum { SHALLOW = 10, DEEP = 60 };

static struct hg_thread *g_thread;
static const struct hg_frame *g_frame;
static double g_ns;

static void walk(long times) {
    for (long i = 0; i < times; i++) walk_from(g_thread, g_frame, DEEP * 2);
}

__attribute__((noinline, noclone)) static void measure(void *unused) {
    (void)unused;
    g_frame = FRAME();
    g_ns = ns_of(walk, 500);
}

int main(void) {
    g_thread = start_recording();
    descend(SHALLOW, measure, NULL);
    double shallow_ns = g_ns;
    descend(DEEP, measure, NULL);
    tell("walk", shallow_ns);
    tell("walk_frame", (g_ns - shallow_ns) / (DEEP - SHALLOW));
    return 0;
}
