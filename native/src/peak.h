/* The process's live total and its peak, exactly, without a log.
 *
 * Every counters line keeps (live, saved live, epoch). When the total falls from a new peak the
 * epoch moves on; a line whose epoch is old saves its live value before it changes. So the lines
 * of the current epoch hold what was live at the peak, and all others have not changed since.
 *
 * One thread: the total is its own plain number. Several: far below the peak each thread keeps its
 * change to itself until it exceeds HG_PEAK_BATCH; near the peak, where it matters, every event
 * goes through one shared total. "Near" is when all threads' batches together could reach the
 * peak, so no peak is missed.
 *
 * When threads hammer the shared total so hard that it would slow the program down, exactness is
 * given up: each thread holds back up to HG_PEAK_BATCH for the rest of the run, and
 * header.peak_error_bytes says by how much the peak may be off. */
#ifndef HG_PEAK_H
#define HG_PEAK_H

#include "base.h"
#include "hot.h"
#include "recording.h"
#include "thread.h"

#define HG_PEAK_BATCH 16384

/* Shared events per second, of all threads together, from which on batches are kept also near the
 * peak. */
#define HG_PEAK_RATE 500000u

enum hg_peak_mode { HG_PEAK_SINGLE, HG_PEAK_NEAR, HG_PEAK_FAR, HG_PEAK_BATCHED };

void hg_peak_start(void);
/* A second, or one more, thread is about to record; `first` is the first one's record. */
void hg_peak_go_threaded(struct hg_thread_record *first);
void hg_peak_close_shared(void);
void hg_peak_raise_again(uint64_t now_ns);
void hg_peak_move_shared(struct hg_thread *thread, int64_t delta, uint64_t now_ns);
/* Hand a finished thread's batch to the shared total. */
void hg_peak_flush(struct hg_thread_record *record);

HG_INLINE void hg_peak_close_alone(void) {
    hg_store(&g_header->peak_rising, 0);
    hg_store(&g_header->peak_epoch, g_header->peak_epoch + 1);
}

/* Before lines change: an event that does not raise the total ends a rising peak. */
HG_INLINE void hg_peak_before(int64_t delta) {
    if (delta > 0 || !hg_load(&g_header->peak_rising)) return;
    if (HG_LIKELY(hg_load(&g_peak_mode) == HG_PEAK_SINGLE)) {
        hg_peak_close_alone();
    } else {
        hg_peak_close_shared();
    }
}

/* False: a second thread may have raised it meanwhile, and been overwritten; it takes
 * hg_peak_raise_again(). */
HG_INLINE bool hg_peak_raise_alone(int64_t total, uint64_t now_ns) {
    hg_store(&g_header->peak_bytes, (uint64_t)total);
    hg_store(&g_header->peak_ns, now_ns);
    hg_store(&g_header->peak_rising, 1);
    return HG_LIKELY(hg_load(&g_peak_mode) == HG_PEAK_SINGLE);
}

/* After lines changed: move the total. */
HG_INLINE void hg_peak_after(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    if (HG_UNLIKELY(hg_load(&g_peak_mode) != HG_PEAK_SINGLE)) {
        hg_peak_move_shared(thread, delta, now_ns);
        return;
    }
    /* In the thread's own record, not the shared total: a second thread may be starting just now. */
    int64_t total = thread->record->unflushed + delta;
    hg_store(&thread->record->unflushed, total);
    if (total <= (int64_t)hg_load(&g_header->peak_bytes)) return;
    if (!hg_peak_raise_alone(total, now_ns)) hg_peak_raise_again(now_ns);
}

/* Before a line changes: keep its value at the last peak. */
HG_INLINE void hg_peak_save(struct hg_counters *line) {
    uint32_t epoch = hg_glance(&g_header->peak_epoch);
    if (HG_LIKELY(line->epoch == epoch)) return;
    hg_store(&line->saved_bytes, (int64_t)(line->bytes_allocated - line->bytes_freed));
    hg_store(&line->saved_blocks, (int64_t)(line->allocations - line->frees));
    hg_store_release(&line->epoch, epoch);
}

/* For the short way: whether moving the total by `delta` concerns this thread's own word alone. */
HG_INLINE bool hg_peak_is_own(const struct hg_thread *thread, int64_t delta) {
    uint32_t mode = hg_glance(&g_peak_mode);
    if (HG_LIKELY(mode == HG_PEAK_SINGLE)) return true;
    int64_t change = thread->record->unflushed + delta;
    return mode != HG_PEAK_NEAR && change < HG_PEAK_BATCH && change > -HG_PEAK_BATCH;
}

/* ... then it is moved so, as the last thing. False as in hg_peak_raise_alone(). */
HG_INLINE bool hg_peak_rise(struct hg_thread *thread, uint64_t size) {
    int64_t total = thread->record->unflushed + (int64_t)size;
    hg_store(&thread->record->unflushed, total);
    if (HG_LIKELY(total <= (int64_t)hg_glance(&g_header->peak_bytes))) return true;
    uint32_t mode = hg_glance(&g_peak_mode);
    /* Not the total, but a change; unless a second thread started after hg_peak_is_own(). */
    if (mode != HG_PEAK_SINGLE) return mode != HG_PEAK_NEAR;
    return hg_peak_raise_alone(total, thread->clock.now);
}

/* Before a line changes because a block leaves it: whether it may, no peak being under way. */
HG_INLINE bool hg_peak_may_fall(void) {
    if (HG_LIKELY(!hg_glance(&g_header->peak_rising))) return true;
    if (hg_glance(&g_peak_mode) != HG_PEAK_SINGLE) return false;
    hg_peak_close_alone();
    return true;
}

HG_INLINE void hg_peak_fall(struct hg_thread *thread, uint64_t size) {
    hg_add_own(&thread->record->unflushed, -(int64_t)size);
}

#endif
