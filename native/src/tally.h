/* Exact totals where not every block is recorded: calls, bytes asked for, usable bytes and their peak.
 *
 * They stand in the thread's record, each moved by a single instruction: a signal handler that
 * allocates cannot tear them. What is live is what was allocated less what was freed.
 *
 * One thread: the peak is noted when the total falls from it, so growing costs nothing; what is live
 * may be above the peak noted so far, and then is the peak. Several: each hands its change to the
 * shared total once it exceeds HG_TALLY_BATCH; header.peak_error_bytes says how far the peak may be
 * off. Epochs, and what lines save, are as in peak.h. */
#ifndef HG_TALLY_H
#define HG_TALLY_H

#include "base.h"

#define HG_TALLY_BATCH 16384

struct hg_thread;

/* Live bytes between which nothing has to be done. */
struct hg_tally {
    int64_t high;    /* after an allocation */
    int64_t falling; /* before a free */
    int64_t low;     /* after a free */
    uint64_t asked;  /* what hg_tally_ask() counted last, in case there is no block */
    int64_t base;    /* what the shared total knows of */
};

void hg_tally_start(void);
/* A thread's new record; `thread` may have had another. */
void hg_tally_attach(struct hg_thread *thread);
/* ... which now is complete: its thread is dead. */
void hg_tally_detach(struct hg_thread *thread);
/* One more thread is about to record; `first` is the first one; NULL: it
 * has nothing yet. */
void hg_tally_go_threaded(struct hg_thread *first);

/* The total is about to fall, or has to be looked at; also before a line changes. */
void hg_tally_fall(struct hg_thread *thread);
/* A bound was crossed; or now and then, that readers see a recent peak. */
void hg_tally_settle(struct hg_thread *thread);

HG_INLINE int64_t hg_tally_live(const struct hg_thread_record *record) {
    return (int64_t)(hg_glance(&record->usable_allocated) - hg_glance(&record->usable_freed));
}

/* Count what is asked for, before the block is there: then nobody has to remember it for so long. */
HG_INLINE void hg_tally_ask(struct hg_thread_record *record, size_t size) {
    hg_add_at_once(&record->bytes_allocated, size);
}

/* ... and the block. */
HG_INLINE void hg_tally_get(struct hg_thread_record *record, size_t usable) {
    hg_add_at_once(&record->allocations, 1);
    hg_add_at_once(&record->usable_allocated, usable);
}

/* After that; true: hg_tally_settle() is due. */
HG_INLINE bool hg_tally_rose(const struct hg_tally *tally, const struct hg_thread_record *record) {
    return hg_tally_live(record) > hg_glance(&tally->high);
}

/* All three. */
HG_INLINE bool hg_tally_add(const struct hg_tally *tally, struct hg_thread_record *record,
                            size_t size, size_t usable) {
    hg_tally_ask(record, size);
    hg_tally_get(record, usable);
    return hg_tally_rose(tally, record);
}

/* Before a free, with so many bytes live; true: hg_tally_fall() is due. */
HG_INLINE bool hg_tally_falls(const struct hg_tally *tally, int64_t live) {
    return live > hg_glance(&tally->falling);
}

HG_INLINE void hg_tally_count_free(struct hg_thread_record *record, size_t usable) {
    hg_add_at_once(&record->frees, 1);
    hg_add_at_once(&record->usable_freed, usable);
}

/* Count a free; true: hg_tally_settle() is due. */
HG_INLINE bool hg_tally_remove(const struct hg_tally *tally, struct hg_thread_record *record,
                               int64_t live, size_t usable) {
    hg_tally_count_free(record, usable);
    return live - (int64_t)usable < hg_glance(&tally->low);
}

#endif
