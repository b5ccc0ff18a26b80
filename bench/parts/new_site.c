/* A stack that was never seen: a site and its innermost frame are new, or all of 20 frames are. */
#include "part.h"

enum { DEPTH = 20 };

static uintptr_t g_next = 1 << 20;

static void add_leaves(long times) {
    uintptr_t frames[DEPTH];
    for (uint32_t i = 0; i < DEPTH; i++) frames[i] = 4096 + i;
    for (long i = 0; i < times; i++) {
        frames[0] = g_next++;
        site_of(frames, DEPTH);
    }
}

static void add_stacks(long times) {
    uintptr_t frames[DEPTH];
    for (long i = 0; i < times; i++) {
        for (uint32_t f = 0; f < DEPTH; f++) frames[f] = g_next++;
        site_of(frames, DEPTH);
    }
}

int main(void) {
    start_recording();
    tell("new_site", ns_of(add_leaves, 100));
    tell("new_stack", ns_of(add_stacks, 20));
    return 0;
}
