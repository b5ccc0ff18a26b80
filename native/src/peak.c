#include "peak.h"

#include "mode.h"

/* ---- peak -------------------------------------------------------------------------------------- */

/* The first thread's record until it has had an event among others: all that it has is its own, and its
 * `unflushed` is UNJOINED, so that an event among others finds no short way. */
static struct hg_thread_record *g_alone;
#define UNJOINED (INT64_MIN / 2)

void hg_peak_start(void) {
    g_peak_mode = HG_PEAK_SINGLE;
    g_peak_may_fall = 0;
    g_peak_epoch = hg_load(&g_header->peak_epoch);
    g_peak_has_saved = true; /* a line that is all zero looks as if it had */
    g_peak_noted = 0;
    g_alone = NULL;
}

/* What all threads together may hold back. */
static int64_t slack(void) { return (int64_t)(hg_threads_shards() + 1) * HG_PEAK_BATCH; }

static bool may_fall(void) {
    return __atomic_load_n(&g_peak_mode, __ATOMIC_SEQ_CST) >= HG_PEAK_FAR &&
           !__atomic_load_n(&g_header->peak_rising, __ATOMIC_SEQ_CST);
}

/* After any change of what it is made of. Whoever stores it looks again afterwards, so that the last of
 * several has seen what all of them did. */
static void let_fall(void) {
    bool may;
    while ((may = may_fall()) != __atomic_load_n(&g_peak_may_fall, __ATOMIC_SEQ_CST))
        __atomic_store_n(&g_peak_may_fall, may, __ATOMIC_SEQ_CST);
}

static bool set_rising(uint32_t is_rising) {
    return __atomic_exchange_n(&g_header->peak_rising, is_rising, __ATOMIC_SEQ_CST);
}

static void set_mode(enum hg_peak_mode mode) {
    uint32_t seen = hg_load(&g_peak_mode), word = (uint32_t)mode;
    while (seen != HG_PEAK_BATCHED && seen != word) {
        if (!__atomic_compare_exchange_n(&g_peak_mode, &seen, word, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST))
            continue;
        let_fall();
        break;
    }
    if (hg_load(&g_peak_mode) == HG_PEAK_BATCHED) {
        hg_store(&g_header->peak_error_bytes, (uint64_t)slack());
    }
}

/* Ours first: a line that saves under the new number while the header still has the old one has not
 * changed yet, or is read anew (see the reader). Never back to an older one. */
void hg_peak_next_epoch(void) {
    uint32_t next = hg_add_shared(&g_peak_epoch, 1) + 1, seen = hg_load(&g_header->peak_epoch);
    while ((int32_t)(next - seen) > 0 && !hg_swap(&g_header->peak_epoch, &seen, next)) continue;
}

void hg_peak_close_shared(void) {
    if (!set_rising(0)) return;
    hg_peak_next_epoch();
    let_fall();
}

static void raise_peak(int64_t total, uint64_t now_ns) {
    uint64_t seen = hg_load(&g_header->peak_bytes);
    while ((int64_t)seen < total) {
        if (!hg_swap(&g_header->peak_bytes, &seen, (uint64_t)total)) continue;
        hg_store(&g_header->peak_ns, now_ns);
        set_rising(1);
        let_fall();
        return;
    }
}

/* Count this thread's shared events; true when they come too fast. */
static bool is_hammered(struct hg_thread *thread, uint64_t now_ns) {
    if (++thread->shared_events < HG_PEAK_RATE / (hg_threads_shards() + 1)) return false;
    uint64_t took = now_ns - thread->shared_since;
    thread->shared_events = 0;
    thread->shared_since = now_ns;
    return took < 1000000000u;
}

/* Of a thread that may be at work: not one of its numbers before an event and the other after it,
 * unless it is too busy to tell. */
static int64_t steady_live(const struct hg_thread_record *record) {
    int64_t live = hg_peak_live(record), again;
    for (uint32_t i = 0; i < 4 && (again = hg_peak_live(record)) != live; i++) live = again;
    return live;
}

int64_t hg_peak_held(const struct hg_thread_record *record) {
    return hg_load_acquire(&g_alone) == record ? steady_live(record) : hg_load(&record->unflushed);
}

/* Hand a thread's change over; the total is that of all threads but for their batches. */
static int64_t flush(struct hg_thread_record *record, int64_t change) {
    const struct hg_thread_record *alone = hg_load(&g_alone);
    hg_store(&record->unflushed, 0);
    int64_t total = hg_add_shared(&g_header->live_flushed, change) + change;
    return HG_LIKELY(!alone) ? total : total + steady_live(alone);
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

/* ---- one thread ----------------------------------------------------------------------------------- */

static void next_epoch_alone(void) {
    uint32_t next = hg_load(&g_peak_epoch) + 1;
    hg_store(&g_peak_epoch, next);
    hg_store(&g_header->peak_epoch, next);
}

/* The peak as the only thread sees it; `is_rising`: it may still rise. A second thread may have raised
 * it meanwhile, and been overwritten. */
static void write_alone(const struct hg_thread *thread, bool is_rising) {
    int64_t live = hg_peak_live(thread->record);
    if (live > (int64_t)hg_load(&g_header->peak_bytes)) {
        hg_store(&g_header->peak_bytes, (uint64_t)live);
        hg_store(&g_header->peak_ns, thread->clock.now);
    }
    hg_store(&g_header->peak_rising, is_rising);
    if (!is_rising) next_epoch_alone();
    /* The next fall ends it, also one from this height. */
    hg_store(&g_peak_noted, live - is_rising);
    if (hg_peak_is_alone()) return;
    raise_peak(whole_total(), thread->clock.now);
    let_fall();
}

void hg_peak_note(const struct hg_thread *thread) { write_alone(thread, false); }

void hg_peak_settle(const struct hg_thread *thread) {
    bool is_higher = hg_peak_live(thread->record) > (int64_t)hg_load(&g_header->peak_bytes);
    if (hg_peak_is_alone() && is_higher) write_alone(thread, true);
}

/* ---- several threads -------------------------------------------------------------------------------- */

void hg_peak_begin(struct hg_thread_record *record) {
    hg_store(&record->unflushed, UNJOINED);
    hg_store_release(&g_alone, record);
}

void hg_peak_go_threaded(const struct hg_thread *first) {
    /* Also when many threads are there already: one more makes the slack larger. */
    set_mode(HG_PEAK_NEAR);
    __atomic_fetch_or(&g_header->flags, HG_FLAG_MULTI_THREADED, __ATOMIC_RELAXED);
    /* It goes on alone until it looks at the mode again; and then raises the peak itself. */
    if (first && hg_load_acquire(&g_alone)) raise_peak(whole_total(), hg_load(&first->clock.now));
}

/* The first thread's first event among others. */
static void join_others(struct hg_thread *thread) {
    raise_peak(whole_total(), thread->clock.now); /* its last event alone may have raised it */
    hg_store(&thread->record->unflushed, hg_peak_live(thread->record));
    hg_store_release(&g_alone, NULL);
}

void hg_peak_before_shared(struct hg_thread *thread, int64_t delta) {
    if (HG_UNLIKELY(hg_load(&g_alone) == thread->record)) join_others(thread);
    if (delta <= 0 && hg_load(&g_header->peak_rising)) hg_peak_close_shared();
}

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
    if (HG_UNLIKELY(hg_load(&g_alone) == thread->record)) { /* it was alone when the event began */
        join_others(thread);
        delta = 0;
    }
    /* A single allocation larger than a batch could leap over the peak from afar. */
    bool is_leap = delta >= HG_PEAK_BATCH;
    if (hg_load(&g_peak_mode) == HG_PEAK_NEAR || is_leap) move_near(thread, delta, now_ns);
    else move_batched(thread, delta, now_ns);
}

void hg_peak_flush(struct hg_thread_record *record) {
    int64_t held = hg_peak_held(record);
    if (hg_load(&g_alone) == record) hg_store(&g_alone, NULL);
    flush(record, held);
}

/* ---- usable ------------------------------------------------------------------------------------ */

static uint32_t g_is_threaded;

void hg_usable_start(void) {
    g_usable_high = 0;
    g_is_threaded = 0;
}

static void raise_usable_peak(int64_t total) {
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
    raise_usable_peak(hg_add_shared(&g_header->usable_shared, in_use) + in_use);
}

void hg_usable_share(struct hg_thread *thread) {
    if (!hg_load(&g_is_threaded)) return;
    int64_t in_use = hg_usable_of(thread->record);
    int64_t change = in_use - hg_load(&thread->usable_shared);
    hg_store(&thread->usable_shared, in_use);
    raise_usable_peak(hg_add_shared(&g_header->usable_shared, change) + change);
}

uint64_t hg_usable_peak(void) {
    if (hg_mode_is_light()) return hg_load(&g_header->peak_bytes);
    struct hg_totals totals = hg_threads_totals();
    raise_usable_peak((int64_t)(totals.usable_allocated - totals.usable_freed));
    return hg_load(&g_header->usable_peak);
}
