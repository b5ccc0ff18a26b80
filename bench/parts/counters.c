/* A block's arrival and departure in its site's line: of one site, and of a thousand. */
#include "part.h"

#include "sites.h"
#include "stacks.h"

enum { SITES = 1024 };

static struct hg_thread *g_thread;
static uint32_t g_sites[SITES], g_mask;

static void add_and_remove(long times) {
    for (long i = 0; i < times; i++) {
        uint32_t site = g_sites[i & g_mask];
        hg_sites_add(g_thread, hg_sites_line(&g_thread->counters, site), 256);
        struct hg_counters *line = seen(hg_sites_line(&g_thread->counters, site));
        hg_sites_end_life(g_thread, line, 0);
        hg_sites_remove(line, 256);
    }
}

int main(void) {
    g_thread = start_recording();
    for (uint32_t i = 0; i < SITES; i++) {
        g_sites[i] = hg_stacks_site(&(uintptr_t){4096 + i}, 1, 0, 0);
    }
    tell("counters", ns_of(add_and_remove, 10240));
    g_mask = SITES - 1;
    tell("counters_many", ns_of(add_and_remove, 10240));
    return 0;
}
