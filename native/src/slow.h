/* The slow door of all modes but exact recording by a short way: each event is recorded as the mode says.
 * While sampling: the block is taken, or may be known, or the thread is new. */
#ifndef HG_SLOW_H
#define HG_SLOW_H

#include "recorder.h"

/* In the place of the exported hooks, which jump here. */
void *hg_slow_malloc(size_t size);
void *hg_slow_calloc(size_t number, size_t size);
void *hg_slow_aligned_alloc(size_t alignment, size_t size);
void *hg_slow_memalign(size_t alignment, size_t size);
void *hg_slow_valloc(size_t size);
void *hg_slow_pvalloc(size_t size);
int hg_slow_posix_memalign(void **out, size_t alignment, size_t size);
void *hg_slow_realloc(void *from, size_t size);
void hg_slow_free(void *block);

/* For hooks elsewhere, whose frame this is. The real allocator returned `block`, or NULL, to a
 * thread that entered, or NULL: report it as the mode says, and leave. */
void hg_slow_report(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                    size_t size);

/* The parts of a free: `block` is about to be given to the real free or realloc, ... */
struct hg_taken hg_slow_take(struct hg_thread *thread, void *block);
/* ... which freed it, */
void hg_slow_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                   const struct hg_taken *taken);
/* ... or made `to` of it, or, if that is NULL and `size` is not 0, failed. */
void hg_slow_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                     const struct hg_taken *taken, void *to, size_t size);

#endif
