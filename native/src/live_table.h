/* The live table: what each stack has allocated, freed and still holds, largest first, at one moment;
 * since the start, or since the table was last reset. */
#ifndef HG_LIVE_TABLE_H
#define HG_LIVE_TABLE_H

#include "base.h"
#include "estimate.h"

/* Since a reset more may be freed than allocated: what was there before. */
struct hg_live_stack {
    uint32_t node; /* the innermost frame */
    int64_t allocations, frees;
    int64_t bytes;               /* live */
    struct hg_variance variance; /* of what is live; not known since a reset */
};

struct hg_live_table {
    struct hg_live_stack *stacks;
    uint32_t count;
    size_t mapped;
    bool has_samples; /* some of it is estimated */
    bool has_errors;  /* and how well is known */
};

/* False: no memory. */
bool hg_live_table_take(struct hg_live_table *table);
void hg_live_table_drop(struct hg_live_table *table);

/* From now on count from here. The recording stays as it is. False: no memory. */
bool hg_live_table_reset(void);

/* A recording starts. */
void hg_live_table_start(void);

#endif
