/* The hooks of every mode but exact recording, in the place of those in hooks.c, which jump here:
 * so a frame that these ask for is, like theirs, the one right below the program's.
 *
 * While sampling, a block that is not taken costs a countdown and a few counters and never enters
 * the recorder. Paused, or off, an allocation is a jump to the real one. */
#ifndef HG_LIGHT_H
#define HG_LIGHT_H

#include "filter.h"
#include "recorder.h"

/* While sampling; the others are in light_way.h. */
int hg_light_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_light_realloc(void *from, size_t size);

/* The slow door: the block is taken, or may be known, or the thread is new. */
void *hg_slow_malloc(size_t size);
void *hg_slow_calloc(size_t number, size_t size);
void *hg_slow_aligned_alloc(size_t alignment, size_t size);
void *hg_slow_memalign(size_t alignment, size_t size);
void *hg_slow_valloc(size_t size);
void *hg_slow_pvalloc(size_t size);
void hg_slow_free(void *block);

/* After hg_light_ask(): the real allocator has no block. */
void *hg_light_get_nothing(void);

/* A free of a block that the filter counts, itself or one beside it. */
void hg_light_free_near(void *block);
/* A free that makes the total fall from a peak, or crosses another bound: see tally.h. */
void hg_light_free_falling(void *block);
void hg_light_free_settling(void *block);

/* In all other modes. */
void *hg_other_malloc(size_t size);
void *hg_other_calloc(size_t number, size_t size);
void *hg_other_aligned_alloc(size_t alignment, size_t size);
void *hg_other_memalign(size_t alignment, size_t size);
void *hg_other_valloc(size_t size);
void *hg_other_pvalloc(size_t size);
int hg_other_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_other_realloc(void *from, size_t size);
void hg_other_free(void *block);

/* Whether nothing can be known of a block: nothing was recorded there, and nothing ever exactly. */
HG_INLINE bool hg_light_is_unknown(const void *block) {
    return !hg_filter_counts(block) && !hg_glance(&g_filter.has_shadow);
}

/* While sampling, a free looks at its block, not at who calls it. So that it sees when the loader drops an
 * object: `records` are what it frees last of it; NULL: that is not known. */
void hg_light_loaded(const void *records);
void hg_light_unloaded(const void *records);

/* For hooks elsewhere, whose frame this is. The real allocator returned `block`, or NULL, to a
 * thread that entered, or NULL: report it as the mode says, and leave. */
void hg_light_report(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                     size_t size);
/* A whole free. */
void hg_light_release(void *block, const struct hg_frame *frame);

/* The parts of one: `block` is about to be given to the real free or realloc, ... */
struct hg_taken hg_light_take(struct hg_thread *thread, void *block);
/* ... which freed it, */
void hg_light_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                    const struct hg_taken *taken);
/* ... or made `to` of it, or, if that is NULL and `size` is not 0, failed. */
void hg_light_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                      const struct hg_taken *taken, void *to, size_t size);

#endif
