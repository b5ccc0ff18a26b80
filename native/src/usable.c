#include "usable.h"

#include "mode.h"

static uint32_t g_is_threaded;

void hg_usable_start(void) {
    g_usable_high = 0;
    g_is_threaded = 0;
}

static void raise_peak(int64_t total) {
    uint64_t seen = hg_load(&g_header->usable_peak);
    while ((int64_t)seen < total && !hg_swap(&g_header->usable_peak, &seen, (uint64_t)total)) {
        continue;
    }
}

void hg_usable_go_threaded(struct hg_thread *first) {
    uint64_t held = 2 * HG_PEAK_BATCH; /* what is asked for, and what is set aside beyond it */
    hg_store(&g_header->usable_peak_error, (hg_threads_shards() + 1) * held);
    if (hg_exchange(&g_is_threaded, 1)) return;
    /* The first one goes on meanwhile; what it does from here on it will share. */
    hg_store(&g_usable_high, INT64_MAX);
    if (!first) return;
    int64_t in_use = hg_usable_of(hg_load_acquire(&first->record));
    hg_store(&first->usable_shared, in_use);
    raise_peak(hg_add_shared(&g_header->usable_shared, in_use) + in_use);
}

void hg_usable_share(struct hg_thread *thread) {
    if (!hg_load(&g_is_threaded)) return;
    int64_t in_use = hg_usable_of(thread->record);
    int64_t change = in_use - hg_load(&thread->usable_shared);
    hg_store(&thread->usable_shared, in_use);
    raise_peak(hg_add_shared(&g_header->usable_shared, change) + change);
}

uint64_t hg_usable_peak(void) {
    if (hg_mode_is_light()) return hg_load(&g_header->peak_bytes);
    struct hg_totals totals = hg_threads_totals();
    raise_peak((int64_t)(totals.usable_allocated - totals.usable_freed));
    return hg_load(&g_header->usable_peak);
}
