/* malloc and free as the recorder sees them, from stacks that change: 4,096 of them in random order
 * that part in their 12 innermost frames, too many to be remembered one by one. What a frame that
 * changed costs is the difference between 256 that part in 24 frames and 256 that part in 12: few
 * enough for their nodes to stay at hand. The calls themselves are taken off. */
#include "part.h"

enum { STACKS = 4096, ORDER = 1 << 14, SOME_STACKS = 256, SHALLOW = 12, DEEP = 24 };

static uint32_t g_paths[STACKS];
static uint16_t g_order[ORDER];
static void *g_block;
static long g_depth;
static int g_is_recording;

__attribute__((noinline, noclone)) static void event(void) {
    if (!g_is_recording) return;
    struct hg_thread *thread = hg_recorder_enter(FRAME(), true);
    hg_recorder_allocated(thread, FRAME(), g_block, 256);
    hg_recorder_freeing(thread, FRAME(), g_block);
    hg_recorder_leave(thread);
}

/* The two calls must stay two: what tells the stacks apart is where they return to. */
__attribute__((noinline, noclone)) static void turn(uint32_t path, long depth) {
    if (!depth) {
        event();
    } else if (path >> (depth - 1) & 1) {
        turn(path, depth - 1);
        __asm__ volatile("# left");
    } else {
        turn(path, depth - 1);
        __asm__ volatile("# right");
    }
}

static void wander(long times) {
    static uint32_t at;
    for (long i = 0; i < times; i++) turn(g_paths[g_order[at++ % ORDER]], g_depth);
}

/* `stacks` of so many frames that are different, in random order: ns of an event. */
static double among(uint32_t stacks, long depth) {
    uint64_t state = 88172645463325252u;
    g_depth = depth;
    for (uint32_t i = 0; i < stacks; i++) {
        g_paths[i] = stacks >> depth ? i : (uint32_t)(next_random(&state) >> 8);
    }
    for (uint32_t i = 0; i < ORDER; i++) g_order[i] = (uint16_t)(next_random(&state) % stacks);
    g_is_recording = 0;
    double calls_ns = best_of(wander, 500);
    g_is_recording = 1;
    return best_of(wander, 500) - calls_ns;
}

int main(void) {
    start_recording();
    g_block = malloc(256);
    tell("changed", among(STACKS, SHALLOW));
    double shallow_ns = among(SOME_STACKS, SHALLOW), deep_ns = among(SOME_STACKS, DEEP);
    tell("changed_frame", (deep_ns - shallow_ns) / (DEEP - SHALLOW));
    return 0;
}
