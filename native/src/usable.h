/* The most usable bytes that were ever in use at once: what the allocator set aside, where peak.h has
 * what was asked for. (In light recordings that one is of usable bytes, and this has nothing to do.)
 *
 * One thread: the peak is noted when the total falls from it, so growing costs nothing; what is in use
 * may be above the peak noted so far, and then is the peak. Several: each hands its change to the
 * shared total on the general way, which it takes at least after every HG_PEAK_BATCH of bytes asked
 * for and after every few hundred events; header.usable_peak_error says how far the peak may be off. */
#ifndef HG_USABLE_H
#define HG_USABLE_H

#include "base.h"
#include "hot.h"
#include "peak.h"
#include "thread.h"

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
