/* A block's arrival and departure in its site's line: of one site, and of a thousand. */
#include "part.h"

enum { SITES = 1024 };

static struct hg_thread *g_thread;
static uint32_t g_sites[SITES], g_mask;

static void add_and_remove(long times) {
    for (long i = 0; i < times; i++) {
        uint32_t site = g_sites[i & g_mask];
        count_arrival(g_thread, line_of(g_thread, site), 256);
        count_departure(g_thread, seen(line_of(g_thread, site)), 256);
    }
}

int main(void) {
    g_thread = start_recording();
    for (uint32_t i = 0; i < SITES; i++) g_sites[i] = site_numbered(i);
    tell("counters", ns_of(add_and_remove, 10240));
    g_mask = SITES - 1;
    tell("counters_many", ns_of(add_and_remove, 10240));
    return 0;
}
