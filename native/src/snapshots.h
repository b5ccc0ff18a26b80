/* Snapshots: all sites' counters at one moment, taken by whichever thread crosses the trigger,
 * under a try-lock; nobody ever waits. Owns the SNAPSHOTS arenas. */
#ifndef HG_SNAPSHOTS_H
#define HG_SNAPSHOTS_H

#include "base.h"
#include "thread.h"

/* Fresh arenas; called when a recording starts. False: no room. */
bool hg_snapshots_start(void);

/* Time has passed `thread->next_tick`: take what is due, set the next tick. With snapshots by churn
 * that is always at once, as `churn`, the bytes just allocated or freed, may be what makes one due. */
void hg_snapshots_tick(struct hg_thread *thread, uint64_t churn, uint64_t now_ns);

/* Add a point to the timeline now, if nobody else is at it. */
void hg_snapshots_add_point(uint64_t now_ns);

/* Take a snapshot and a point of the timeline now, if nobody else is at it; whether it was taken.
 * `thread` may be NULL: of a thread that is no part of the recording. */
bool hg_snapshots_take(struct hg_thread *thread, uint64_t now_ns);

#endif
