/* A walk of the whole stack by rules, nothing remembered: each frame, and the rest. */
#include "part.h"

#include "descend.h"
#include "walk.h"

enum { SHALLOW = 10, DEEP = 60 };

static struct hg_thread *g_thread;
static const struct hg_frame *g_frame;
static double g_ns;

static void walk(long times) {
    struct hg_caller caller = hg_frame_caller(g_frame);
    for (long i = 0; i < times; i++) hg_walk(&g_thread->walker, &caller, DEEP * 2);
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
    double frame_ns = (g_ns - shallow_ns) / (DEEP - SHALLOW);
    tell("walk_frame", frame_ns);
    tell("walk_rest", shallow_ns - SHALLOW * frame_ns);
    return 0;
}
