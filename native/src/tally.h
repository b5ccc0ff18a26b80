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

/* ---- visible ----------------------------------------------------------------------------------- */

/* The process's totals as plain variables, that a debugger prints by name, from a live process or a
 * core: heapglass_total_allocs and its like.
 *
 * While the program has one thread, and every event is recorded, they are exact at any instant. With
 * more, or when blocks are sampled, they are as of the last point of the timeline: at most a hundredth
 * of a second old when the program last allocated or freed. The recording has the exact ones. */

struct hg_totals;

/* Each member has a name of its own to the outside: see tally.c. */
struct hg_visible {
    uint64_t allocs, frees;
    uint64_t allocated_bytes, freed_bytes; /* as asked for */
};
HG_GLOBAL struct hg_visible g_visible;

/* A new recording: from zero. */
void hg_visible_start(void);
/* As they are now, of all threads. */
void hg_visible_renew(const struct hg_totals *totals);

/* By the only thread there is. */
HG_INLINE void hg_visible_arrival(uint64_t size) {
    hg_add_at_once(&g_visible.allocs, 1);
    hg_add_at_once(&g_visible.allocated_bytes, size);
}

HG_INLINE void hg_visible_departure(uint64_t size) {
    hg_add_at_once(&g_visible.frees, 1);
    hg_add_at_once(&g_visible.freed_bytes, size);
}

/* ---- tally ------------------------------------------------------------------------------------- */

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
