/* A snapshot of 10,000 sites: of each that changed, and of each that did not. */
#include "part.h"

#include "clock.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"

enum { SITES = 10000 };

static struct hg_thread *g_thread;
static uint32_t g_sites[SITES];

static void change_all(void) {
    for (uint32_t i = 0; i < SITES; i++) {
        hg_sites_add(g_thread, hg_sites_line(&g_thread->counters, g_sites[i]), 256);
    }
}

/* A batch of one: only then is nothing between two of them timed too. */
static double best_snapshot(int is_changed) {
    double best_ns = 1e300;
    for (int i = 0; i < 40; i++) {
        if (is_changed) change_all();
        double start_ns = wall_ns();
        hg_snapshots_take(g_thread, hg_clock_now());
        double ns = wall_ns() - start_ns;
        if (ns < best_ns) best_ns = ns;
    }
    return best_ns / SITES;
}

int main(void) {
    g_thread = start_recording();
    for (uint32_t i = 0; i < SITES; i++) {
        g_sites[i] = hg_stacks_site(&(uintptr_t){4096 + i}, 1, 0, 0);
    }
    tell("snapshot_changed", best_snapshot(1));
    tell("snapshot_same", best_snapshot(0));
    return 0;
}
