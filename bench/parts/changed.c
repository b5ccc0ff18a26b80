/* malloc and free without the real allocator, from stacks that change, in random order: 256 of them
 * that part in their 12 innermost frames, which a thread may well remember; as many that part in 24;
 * and 65,536 that part in 16, which are too many. The calls themselves are taken off. */
#include "part.h"

enum { FEW = 256, MANY = 65536, ORDER = 1 << 18, SHALLOW = 12, MIDDLE = 16, DEEP = 24 };

static uint32_t g_paths[MANY];
static uint32_t g_order[ORDER];
static long g_depth;
static int g_is_recording;

__attribute__((noinline, noclone)) static void event(void) {
    if (g_is_recording) free(seen(malloc(256)));
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
    for (uint32_t i = 0; i < ORDER; i++) g_order[i] = (uint32_t)(next_random(&state) % stacks);
    g_is_recording = 0;
    double calls_ns = ns_of_hooks(wander, 500);
    g_is_recording = 1;
    return ns_of_hooks(wander, 500) - calls_ns;
}

int main(void) {
    start_recording();
    tell("changed", among(FEW, SHALLOW));
    tell("changed_deep", among(FEW, DEEP));
    tell("changed_many", among(MANY, MIDDLE));
    return 0;
}
