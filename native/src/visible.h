/* The process's totals as plain variables, that a debugger prints by name, from a live process or a
 * core: heapglass_total_allocs and its like.
 *
 * While the program has one thread, and every event is recorded, they are exact at any instant. With
 * more, or when blocks are sampled, they are as of the last point of the timeline: at most a hundredth
 * of a second old when the program last allocated or freed. The recording has the exact ones. */
#ifndef HG_VISIBLE_H
#define HG_VISIBLE_H

#include "base.h"

struct hg_totals;

/* Each member has a name of its own to the outside: see visible.c. */
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

#endif
