/* The hooks while someone wants to be told of each call: the log, the trace, the statistics since a
 * reset. Each does the real call, records it as it would be recorded otherwise, and tells the
 * watchers. Switched on and off by hg_mode_watch(), at any time; the hooks of all other modes know
 * nothing of it. */
#ifndef HG_WATCHED_H
#define HG_WATCHED_H

#include "trace.h"

void *hg_watched_malloc(size_t size);
void *hg_watched_calloc(size_t count, size_t size);
void *hg_watched_aligned_alloc(size_t alignment, size_t size);
void *hg_watched_memalign(size_t alignment, size_t size);
void *hg_watched_valloc(size_t size);
void *hg_watched_pvalloc(size_t size);
int hg_watched_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_watched_realloc(void *from, size_t size);
void hg_watched_free(void *block);

/* For hooks elsewhere, whose frame this is: as hg_slow_report() is. */
void hg_watched_report(struct hg_thread *thread, const struct hg_frame *frame, enum hg_call call,
                       void *block, size_t size);

#endif
