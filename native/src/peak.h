/* The process's live total and its peak, exactly, without a log.
 *
 * Every counters line keeps (live, saved live, epoch). When the total falls from a new peak the
 * epoch moves on; a line whose epoch is old saves its live value before it changes. So the lines
 * of the current epoch hold what was live at the peak, and all others have not changed since.
 *
 * One thread: the total is what it allocated less what it freed, and a peak is noted when the total
 * falls from it, so growing costs nothing; what is live may be above the peak noted so far, and then is
 * the peak. Several: far below the peak each thread keeps its change to itself until it exceeds
 * HG_PEAK_BATCH; near the peak, where it matters, every event goes through one shared total. "Near" is
 * when all threads' batches together could reach the peak, so no peak is missed.
 *
 * When threads hammer the shared total so hard that it would slow the program down, exactness is
 * given up: each thread holds back up to HG_PEAK_BATCH for the rest of the run, and
 * header.peak_error_bytes says by how much the peak may be off. */
#ifndef HG_PEAK_H
#define HG_PEAK_H

#include "base.h"
#include "front.h"
#include "recording.h"
#include "thread.h"

/* ---- peak -------------------------------------------------------------------------------------- */

#define HG_PEAK_BATCH 16384

/* Shared events per second, of all threads together, from which on batches are kept also near the
 * peak. */
#define HG_PEAK_RATE 500000u

/* From FAR on threads keep changes to themselves. */
enum hg_peak_mode { HG_PEAK_SINGLE, HG_PEAK_NEAR, HG_PEAK_FAR, HG_PEAK_BATCHED };

void hg_peak_start(void);
/* The record of the thread that gets the first shard: it may stay the only one. */
void hg_peak_begin(struct hg_thread_record *record);
/* A second, or one more, thread is about to record; `first` is the first one; NULL: it
 * has nothing yet. */
void hg_peak_go_threaded(const struct hg_thread *first);
void hg_peak_close_shared(void);
/* The peak has passed: lines save what they have before they change. */
void hg_peak_next_epoch(void);
/* The only thread's total is about to fall from a peak. */
void hg_peak_note(const struct hg_thread *thread);
/* Now and then, and at the end, that readers see a recent peak. */
void hg_peak_settle(const struct hg_thread *thread);
/* An event among several threads: before lines and totals change, and after. */
void hg_peak_before_shared(struct hg_thread *thread, int64_t delta);
void hg_peak_move_shared(struct hg_thread *thread, int64_t delta, uint64_t now_ns);
/* Live bytes of a thread that the shared total does not know of. */
int64_t hg_peak_held(const struct hg_thread_record *record);
/* Hand a finished thread's batch to the shared total. */
void hg_peak_flush(struct hg_thread_record *record);

HG_INLINE bool hg_peak_is_alone(void) {
    return HG_LIKELY(hg_glance(&g_peak_mode) == HG_PEAK_SINGLE);
}

/* What a thread allocated less what it freed. */
HG_INLINE int64_t hg_peak_live(const struct hg_thread_record *record) {
    return (int64_t)(hg_glance(&record->bytes_allocated) - hg_glance(&record->bytes_freed));
}

/* For the only thread: whether a fall would be one from a peak that is not noted. */
HG_INLINE bool hg_peak_falls(const struct hg_thread_record *record) {
    return HG_UNLIKELY(hg_peak_live(record) > hg_glance(&g_peak_noted));
}

/* Before an event reads the clock, and before lines and totals change: one that does not raise the
 * total ends a rising peak, which was reached when the clock was last read. */
HG_INLINE void hg_peak_before(struct hg_thread *thread, int64_t delta) {
    if (!hg_peak_is_alone()) hg_peak_before_shared(thread, delta);
    else if (delta <= 0 && hg_peak_falls(thread->record)) hg_peak_note(thread);
}

/* After lines and totals changed. */
HG_INLINE void hg_peak_after(struct hg_thread *thread, int64_t delta, uint64_t now_ns) {
    if (!hg_peak_is_alone()) hg_peak_move_shared(thread, delta, now_ns);
}

/* Before a line changes: keep its value at the last peak. */
HG_INLINE void hg_peak_save(struct hg_counters *line) {
    uint32_t epoch = hg_glance(&g_peak_epoch);
    if (HG_LIKELY(line->epoch == epoch)) return;
    hg_store(&line->saved_bytes, (int64_t)(line->bytes_allocated - line->bytes_freed));
    hg_store(&line->saved_blocks, (int64_t)(line->allocations - line->frees));
    /* Not again and again: other threads look at what lies beside it. */
    if (HG_UNLIKELY(!hg_glance(&g_peak_has_saved))) hg_store(&g_peak_has_saved, true);
    hg_store_release(&line->epoch, epoch);
}

/* For the short way among several threads: whether moving the total by `delta` concerns this thread's
 * own word alone, ... */
HG_INLINE bool hg_peak_is_own(const struct hg_thread *thread, int64_t delta) {
    int64_t change = delta + (HG_PEAK_BATCH - 1) + hg_glance(&thread->record->unflushed);
    return HG_LIKELY((uint64_t)change < 2 * HG_PEAK_BATCH - 1);
}
/* ... if the peak is far, or batches are kept anyway, ... */
HG_INLINE bool hg_peak_may_rise(void) { return HG_LIKELY(hg_glance(&g_peak_mode) >= HG_PEAK_FAR); }
/* ... and, before lines fall, no peak is under way. Then it is moved so, in the end. */
HG_INLINE bool hg_peak_may_fall(void) { return HG_LIKELY(hg_glance(&g_peak_may_fall)); }

HG_INLINE void hg_peak_rise_own(struct hg_thread_record *record, uint64_t size) {
    hg_add_at_once(&record->unflushed, size);
}
HG_INLINE void hg_peak_fall_own(struct hg_thread_record *record, uint64_t size) {
    (void)hg_subtract_at_once(&record->unflushed, size);
}

/* ---- usable ------------------------------------------------------------------------------------ */

/* The most usable bytes that were ever in use at once: what the allocator set aside, where peak.h has
 * what was asked for. (In light recordings that one is of usable bytes, and this has nothing to do.)
 *
 * One thread: the peak is noted when the total falls from it, so growing costs nothing; what is in use
 * may be above the peak noted so far, and then is the peak. Several: each hands its change to the
 * shared total on the general way, which it takes at least after every HG_PEAK_BATCH of bytes asked
 * for and after every few hundred events; header.usable_peak_error says how far the peak may be off. */

void hg_usable_start(void);
/* A second, or one more, thread is about to record; `first` is the first one; NULL: it
 * has nothing yet. */
void hg_usable_go_threaded(struct hg_thread *first);
/* The thread's change to the shared total; also that of a dead one. */
void hg_usable_share(struct hg_thread *thread);
/* The peak until now. */
uint64_t hg_usable_peak(void);

HG_INLINE int64_t hg_usable_of(const struct hg_thread_record *record) {
    return (int64_t)(hg_glance(&record->usable_allocated) - hg_glance(&record->usable_freed));
}

/* Before the only thread counts that a block goes. */
HG_INLINE void hg_usable_fall(const struct hg_thread_record *record) {
    int64_t in_use = hg_usable_of(record);
    if (HG_LIKELY(in_use <= hg_glance(&g_usable_high))) return;
    /* With a second thread it is not the total any more, and this word may have been written over. */
    bool is_total = hg_glance(&g_peak_mode) == HG_PEAK_SINGLE;
    if (is_total) hg_store(&g_header->usable_peak, (uint64_t)in_use);
    hg_store(&g_usable_high, is_total ? in_use : INT64_MAX);
}

#endif
