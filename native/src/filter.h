/* Whether a block may be recorded: how a free learns in a nanosecond that its block is not.
 *
 * Blocks in the ledger's open table (large.h) are counted by where they start, to 256 bytes, one
 * counter for many such places: zero means that none there is recorded. Counters that reach the top stay
 * there. Blocks in the ledger's shadow of the heap, which there are only where events were recorded exactly,
 * are looked up there.
 * A block is counted before its address is known outside, so whoever frees it finds it. */
#ifndef HG_FILTER_H
#define HG_FILTER_H

#include "base.h"
#include "ledger.h"

#define HG_FILTER_COUNTERS 65536u
#define HG_FILTER_GRAIN 256u /* bytes: a block is counted with those that start beside it */
#define HG_FILTER_TOP 255u

struct hg_filter {
    bool has_shadow; /* the shadow may hold blocks */
    uint8_t counters[HG_FILTER_COUNTERS];
    uint8_t finer[HG_FILTER_COUNTERS]; /* the same blocks, by all of their address */
};
HG_GLOBAL struct hg_filter g_filter;

HG_INLINE uint8_t *hg_filter_at(const void *block) {
    return &g_filter.counters[(uintptr_t)block / HG_FILTER_GRAIN % HG_FILTER_COUNTERS];
}

HG_INLINE bool hg_filter_counts(const void *block) { return hg_glance(hg_filter_at(block)) != 0; }

/* A second look, where the first found something: a block that is allocated and freed time and again
 * beside a recorded one would be looked up each time. Places that always count are not in it. */
HG_INLINE uint8_t *hg_filter_finely_at(const void *block) {
    return &g_filter.finer[(uintptr_t)block / 8 * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

HG_INLINE bool hg_filter_counts_finely(const void *block) {
    return hg_glance(hg_filter_finely_at(block)) != 0;
}

HG_INLINE bool hg_filter_may_hold(const void *block) {
    if (hg_filter_counts(block)) return true;
    if (HG_LIKELY(!hg_glance(&g_filter.has_shadow))) return false;
    return hg_ledger_may_hold((uintptr_t)block);
}

/* Nothing is recorded. */
void hg_filter_clear(void);
/* From now on also the shadow holds blocks. */
void hg_filter_see_shadow(void);

/* A block in the open table; or one that only the slow door can free. */
void hg_filter_add(const void *block);
void hg_filter_remove(const void *block);
/* A place that always counts. */
void hg_filter_mark(const void *place);

#endif
