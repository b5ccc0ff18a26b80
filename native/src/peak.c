#include "peak.h"

/* The first thread's record while it still holds the whole total of its time alone. */
static struct hg_thread_record *g_alone;

void hg_peak_start(void) {
    g_peak_mode = HG_PEAK_SINGLE;
    g_alone = NULL;
}

/* What all threads together may hold back. */
static int64_t slack(void) { return (int64_t)(hg_load(&g_header->shards) + 1) * HG_PEAK_BATCH; }

static void set_mode(enum hg_peak_mode mode) {
    uint32_t seen = hg_load(&g_peak_mode);
    while (seen != HG_PEAK_BATCHED && !hg_swap(&g_peak_mode, &seen, (uint32_t)mode)) continue;
    if (hg_load(&g_peak_mode) == HG_PEAK_BATCHED) {
        hg_store(&g_header->peak_error_bytes, (uint64_t)slack());
    }
}

void hg_peak_go_threaded(struct hg_thread_record *first) {
    if (hg_load(&g_peak_mode) == HG_PEAK_SINGLE) hg_store(&g_alone, first);
    /* Also when many threads are there already: one more makes the slack larger. */
    set_mode(HG_PEAK_NEAR);
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

/* Count this thread's shared events; true when they come too fast. */
static bool is_hammered(struct hg_thread *thread, uint64_t now_ns) {
    if (++thread->shared_events < HG_PEAK_RATE / (hg_load(&g_header->shards) + 1)) return false;
    uint64_t took = now_ns - thread->shared_since;
    thread->shared_events = 0;
    thread->shared_since = now_ns;
    return took < 1000000000u;
}

/* Hand a thread's change over; the total is that of all threads but for their batches. */
static int64_t flush(struct hg_thread_record *record, int64_t change) {
    struct hg_thread_record *alone = hg_load(&g_alone);
    hg_store(&record->unflushed, 0);
    int64_t total = hg_add_shared(&g_header->live_flushed, change) + change;
    if (HG_LIKELY(!alone)) return total;
    if (alone != record) return total + hg_load(&alone->unflushed);
    hg_store(&g_alone, NULL);
    return total;
}

/* The total with the batches that threads still hold back. */
static int64_t whole_total(void) {
    int64_t flushed, sum;
    /* A batch handed over meanwhile would be in neither part. */
    for (uint32_t i = 0; i < 4; i++) {
        flushed = hg_load_acquire(&g_header->live_flushed);
        sum = flushed + hg_threads_unflushed();
        if (hg_load_acquire(&g_header->live_flushed) == flushed) break;
    }
    return sum;
}

void hg_peak_raise_again(uint64_t now_ns) { raise_peak(whole_total(), now_ns); }

static void move_near(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    int64_t total = flush(thread->record, thread->record->unflushed + delta);
    int64_t headroom = (int64_t)hg_load(&g_header->peak_bytes) - total;
    /* Threads that have not moved since the peak came near still hold a batch back. */
    if (headroom < slack()) {
        set_mode(HG_PEAK_NEAR); /* a leap may have brought it here from afar */
        raise_peak(whole_total(), now_ns);
    } else if (headroom > 4 * slack()) {
        set_mode(HG_PEAK_FAR);
    }
    if (HG_UNLIKELY(is_hammered(thread, now_ns))) set_mode(HG_PEAK_BATCHED);
}

static void move_batched(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    int64_t change = thread->record->unflushed + delta;
    if (HG_LIKELY(change < HG_PEAK_BATCH && change > -HG_PEAK_BATCH)) {
        hg_store(&thread->record->unflushed, change);
        return;
    }
    int64_t total = flush(thread->record, change);
    int64_t headroom = (int64_t)hg_load(&g_header->peak_bytes) - total;
    if (headroom >= 2 * slack()) return;
    set_mode(HG_PEAK_NEAR);
    if (hg_load(&g_peak_mode) == HG_PEAK_BATCHED) raise_peak(whole_total(), now_ns);
}

void hg_peak_move_shared(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    /* A single allocation larger than a batch could leap over the peak from afar. */
    bool is_leap = delta >= HG_PEAK_BATCH;
    if (hg_load(&g_peak_mode) == HG_PEAK_NEAR || is_leap) move_near(thread, delta, now_ns);
    else move_batched(thread, delta, now_ns);
}

void hg_peak_flush(struct hg_thread_record *record) { flush(record, record->unflushed); }
