/* malloc and free as the recorder sees them, from a stack that repeats: all of it with five frames,
 * and what each frame more adds. The real allocator is left out: the block is always the same. */
#include "part.h"

#include "descend.h"

enum { SHALLOW = 5, DEEP = 45 };

static void *g_block;
static double g_ns;

__attribute__((noinline, noclone)) static void allocate(void) {
    struct hg_thread *thread = hg_recorder_enter(FRAME(), true);
    hg_recorder_allocated(thread, FRAME(), g_block, 256);
    hg_recorder_leave(thread);
}

__attribute__((noinline, noclone)) static void release(void) {
    struct hg_thread *thread = hg_recorder_enter(FRAME(), false);
    hg_recorder_freeing(thread, FRAME(), g_block);
    hg_recorder_leave(thread);
}

static void pair(long times) {
    for (long i = 0; i < times; i++) {
        allocate();
        release();
    }
}

__attribute__((noinline, noclone)) static void measure(void *unused) {
    (void)unused;
    g_ns = ns_of(pair, 2000);
}

int main(void) {
    start_recording();
    g_block = malloc(256);
    descend(SHALLOW, measure, NULL);
    double shallow_ns = g_ns;
    descend(DEEP, measure, NULL);
    tell("repeated", shallow_ns);
    tell("repeated_frame", (g_ns - shallow_ns) / (DEEP - SHALLOW));
    return 0;
}
