/* The hooks while blocks are sampled above glibc, and while recording is paused or off, in the place of
 * those in hooks.c, which jump here.
 *
 * While sampling, a block that is not taken costs a countdown and a few counters and never enters
 * the recorder. Paused, or off, an allocation is a jump to the real one. */
#ifndef HG_LIGHT_H
#define HG_LIGHT_H

#include "base.h"

/* While sampling; the others are in light_way.h. */
int hg_light_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_light_realloc(void *from, size_t size);

/* The same where there is more to mind than one thread's samples: see light_way.h. */
void *hg_crowd_malloc(size_t size);
void *hg_crowd_calloc(size_t number, size_t size);
void *hg_crowd_aligned_alloc(size_t alignment, size_t size);
void *hg_crowd_memalign(size_t alignment, size_t size);
void *hg_crowd_valloc(size_t size);
void *hg_crowd_pvalloc(size_t size);
void hg_crowd_free(void *block);

/* While paused, and while off: what is freed may have been recorded before, or not be the allocator's. */
void hg_paused_free(void *block);
void *hg_paused_realloc(void *from, size_t size);
void hg_off_free(void *block);
void *hg_off_realloc(void *from, size_t size);

/* What was asked for is counted, and the real allocator has no block: after hg_light_ask(), and in front. */
void *hg_light_get_nothing(void);
void *hg_light_get_nothing_in_front(void);

/* A free of a block that the filter counts, itself or one beside it. */
void hg_light_free_near(void *block);
/* A free that makes the total fall from a peak, or crosses another bound: see tally.h. */
void hg_light_free_falling(void *block);
void hg_light_free_settling(void *block);

/* While sampling, a free looks at its block, not at who calls it. So that it sees when the loader drops an
 * object: `records` are what it frees last of it; NULL: that is not known. */
void hg_light_loaded(const void *records);
void hg_light_unloaded(const void *records);

#endif
