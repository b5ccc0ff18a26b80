/* The snapshot log: each time so many bytes were allocated plus freed, all sources of memory as text,
 * as docs/pmem-format.md describes. Written by the thread that crosses the threshold, between two of
 * its events, and a last time when the program ends. */
#ifndef HG_PMEM_H
#define HG_PMEM_H

#include "naming.h"

/* If the options ask for it, make the file; called when a recording starts. */
void hg_pmem_start(const struct hg_identity *who);

/* Append a snapshot, if there is a log. The bytes allocated plus freed since the one before, 0 when
 * none was written. By one thread at a time, signals held back: see snapshots.c. */
uint64_t hg_pmem_append(void);

#endif
