#include "statistics.h"

#include "mode.h"
#include "thread.h"
#include "usable.h"

/* Each reset begins a new window, so that an event that is being counted meanwhile goes to one of
 * them as a whole. (Unless it takes as long as seven resets.) */
#define WINDOWS 8u

static struct {
    uint32_t resets;
    struct heapglass_counts windows[WINDOWS] __attribute__((aligned(64)));
} g_statistics;

static struct heapglass_counts *window(void) {
    return &g_statistics.windows[hg_load_acquire(&g_statistics.resets) % WINDOWS];
}

void hg_statistics_start(void) { hg_store(&g_statistics.resets, 0); }

void hg_statistics_reset(void) {
    uint32_t resets = hg_load(&g_statistics.resets);
    __builtin_memset(&g_statistics.windows[(resets + 1) % WINDOWS], 0,
                     sizeof *g_statistics.windows);
    hg_swap(&g_statistics.resets, &resets, resets + 1); /* else somebody has just done so */
    hg_mode_watch(HG_WATCHER_STATISTICS, true);
}

static void move(struct heapglass_bytes *bytes, size_t came, size_t went) {
    int64_t change = (int64_t)came - (int64_t)went;
    if (came) hg_add_shared(&bytes->allocated, came);
    if (went) hg_add_shared(&bytes->deallocated, went);
    int64_t in_use = hg_add_shared(&bytes->in_use, change) + change;
    int64_t peak = hg_load(&bytes->peak);
    while (in_use > peak && !hg_swap(&bytes->peak, &peak, in_use)) continue;
}

void hg_statistics_count(const struct hg_event *event) {
    const struct hg_side *got = &event->got, *old = &event->old;
    struct heapglass_counts *counts = window();
    if (got->block) hg_add_shared(&counts->allocations, 1);
    if (old->block) hg_add_shared(&counts->deallocations, 1);
    move(&counts->usable, got->block ? got->usable : 0, old->block ? old->usable : 0);
    move(&counts->requested, got->block ? got->requested : 0, old->block ? old->requested : 0);
}

/* A peak that is noted when the total falls from it may be below what is in use now. */
static int64_t peak_of(uint64_t noted, int64_t in_use) {
    return (int64_t)noted > in_use ? (int64_t)noted : in_use;
}

static struct heapglass_bytes bytes_of(uint64_t allocated, uint64_t freed) {
    return (struct heapglass_bytes){allocated, freed, (int64_t)(allocated - freed), 0};
}

static struct heapglass_counts since_start(void) {
    struct hg_totals totals = hg_threads_totals();
    struct heapglass_counts counts = {
        .allocations = totals.allocations,
        .deallocations = totals.frees,
        .usable = bytes_of(totals.usable_allocated, totals.usable_freed),
    };
    uint64_t peak = hg_load(&g_header->peak_bytes), usable = hg_usable_peak();
    counts.usable.peak = peak_of(hg_mode_is_light() ? peak : usable, counts.usable.in_use);
    /* A light recording does not know what was asked for of a block that is freed. */
    if (hg_mode_is_light()) {
        counts.requested.allocated = totals.bytes_allocated;
        return counts;
    }
    counts.requested = bytes_of(totals.bytes_allocated, totals.bytes_freed);
    counts.requested.peak = peak_of(peak, counts.requested.in_use);
    return counts;
}

static struct heapglass_bytes copy(const struct heapglass_bytes *from) {
    return (struct heapglass_bytes){hg_load(&from->allocated), hg_load(&from->deallocated),
                                    hg_load(&from->in_use), hg_load(&from->peak)};
}

static struct heapglass_counts since_reset(void) {
    const struct heapglass_counts *from = window();
    struct heapglass_counts counts = {
        .allocations = hg_load(&from->allocations),
        .deallocations = hg_load(&from->deallocations),
        .requested = copy(&from->requested),
        .usable = copy(&from->usable),
    };
    if (hg_mode_is_light()) {
        counts.requested = (struct heapglass_bytes){.allocated = counts.requested.allocated};
    }
    return counts;
}

struct heapglass_stats hg_statistics_get(void) {
    struct heapglass_stats stats = {.since_start = since_start()};
    bool was_reset = hg_load(&g_statistics.resets) != 0;
    stats.since_reset = was_reset ? since_reset() : stats.since_start;
    return stats;
}
