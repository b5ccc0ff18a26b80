/* The timeline: the process's totals over time, finer for the recent past than for the old. Owns
 * the TIMELINE arenas. One caller at a time (see snapshots.c). */
#ifndef HG_TIMELINE_H
#define HG_TIMELINE_H

#include "base.h"

#define HG_TIMELINE_INTERVAL_NS UINT64_C(10000000)

bool hg_timeline_start(void);

/* The process's totals now. */
struct hg_point hg_timeline_totals(uint64_t now_ns);

void hg_timeline_add(const struct hg_point *point);

#endif
