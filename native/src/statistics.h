/* The six counters that a program may ask for, since its start and since it last reset them.
 *
 * Since the start they are the recording's own totals. The first reset makes each call a watched one:
 * from then on shared totals give the exact peak since the reset, whatever the threads. */
#ifndef HG_STATISTICS_H
#define HG_STATISTICS_H

#define HEAPGLASS_TYPES_ONLY
#include "heapglass.h"
#include "text.h"
#include "trace.h"

/* ---- statistics -------------------------------------------------------------------------------- */

/* When a recording starts. */
void hg_statistics_start(void);

/* Begin again at zero. */
void hg_statistics_reset(void);

/* While watched: one call. */
void hg_statistics_count(const struct hg_event *event);

/* What has been counted; if there was no reset, both are the same. */
struct heapglass_stats hg_statistics_get(void);

/* ---- losses ------------------------------------------------------------------------------------ */

/* The losses that text outputs of the library tell of: those that may change a number by one per cent
 * or more. analysis/material.py of the readers decides alike. */

/* One line of all of them between `before` and `after`; nothing where there are none. */
void hg_losses_print(struct hg_printer *out, const char *before, const char *after);

#endif
