#include "peak.h"

uint32_t g_peak_mode;

void hg_peak_start(void) { g_peak_mode = HG_PEAK_SINGLE; }

void hg_peak_go_threaded(void) {
    /* Also when many threads are there already: one more makes the slack larger. */
    hg_store(&g_peak_mode, HG_PEAK_NEAR);
    __atomic_fetch_or(&g_header->flags, HG_FLAG_MULTI_THREADED, __ATOMIC_RELAXED);
}

void hg_peak_close_shared(void) {
    if (hg_exchange(&g_header->peak_rising, 0)) hg_add_shared(&g_header->peak_epoch, 1);
}

static void raise_peak(int64_t total, uint64_t now_ns) {
    uint64_t seen = hg_load(&g_header->peak_bytes);
    while ((int64_t)seen < total) {
        if (!hg_swap(&g_header->peak_bytes, &seen, (uint64_t)total)) continue;
        hg_store(&g_header->peak_ns, now_ns);
        hg_store_release(&g_header->peak_rising, 1);
        return;
    }
}

/* What all threads together may hold back. */
static int64_t slack(void) { return (int64_t)(hg_load(&g_header->shards) + 1) * HG_PEAK_BATCH; }

static void move_near(struct hg_thread_record *record, int64_t delta, uint64_t now_ns) {
    int64_t change = record->unflushed + delta;
    hg_store(&record->unflushed, 0);
    int64_t total = hg_add_shared(&g_header->live_flushed, change) + change;
    int64_t headroom = (int64_t)hg_load(&g_header->peak_bytes) - total;
    /* Threads that have not moved since the peak came near still hold a batch back. */
    if (headroom < slack()) raise_peak(total + hg_threads_unflushed(), now_ns);
    else if (headroom > 4 * slack()) hg_store(&g_peak_mode, HG_PEAK_FAR);
}

static void move_far(struct hg_thread_record *record, int64_t delta) {
    int64_t change = record->unflushed + delta;
    if (HG_LIKELY(change < HG_PEAK_BATCH && change > -HG_PEAK_BATCH)) {
        hg_store(&record->unflushed, change);
        return;
    }
    hg_store(&record->unflushed, 0);
    int64_t total = hg_add_shared(&g_header->live_flushed, change) + change;
    if ((int64_t)hg_load(&g_header->peak_bytes) - total < 2 * slack()) {
        hg_store(&g_peak_mode, HG_PEAK_NEAR);
    }
}

void hg_peak_move_shared(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    /* A single allocation larger than a batch could leap over the peak from afar. */
    bool is_leap = delta >= HG_PEAK_BATCH;
    if (hg_load(&g_peak_mode) == HG_PEAK_FAR && !is_leap) move_far(thread->record, delta);
    else move_near(thread->record, delta, now_ns);
}

void hg_peak_flush(struct hg_thread_record *record) {
    int64_t change = record->unflushed;
    hg_store(&record->unflushed, 0);
    hg_add_shared(&g_header->live_flushed, change);
}
