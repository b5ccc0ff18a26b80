/* The hooks while blocks are sampled above an allocator that tells how large its blocks are: jemalloc, by
 * its classes and by its own count of what it took back (see real.h). They are in the place of those in
 * hooks.c, which jump here.
 *
 * What is told is true whoever calls in between, a signal handler or the allocator itself: so no thread is
 * marked as inside the allocator, and every call counts. */
#ifndef HG_TOLD_H
#define HG_TOLD_H

#include "base.h"

/* ---- told -------------------------------------------------------------------------------------- */

void *hg_told_malloc(size_t size);
void *hg_told_calloc(size_t number, size_t size);
void hg_told_free(void *block);

/* For hooks elsewhere: malloc, as long as there is nothing special about the block. NULL: there is, and
 * nothing was done. */
void *hg_told_get(size_t size);

/* ---- careful ----------------------------------------------------------------------------------- */

/* The hooks while blocks are sampled above other allocators than glibc's, in the place of those in hooks.c,
 * which jump here. Such an allocator may call itself through us, and has to be asked how large a block
 * is: the thread is marked as inside it meanwhile. */

void *hg_careful_malloc(size_t size);
void *hg_careful_calloc(size_t number, size_t size);
void *hg_careful_aligned_alloc(size_t alignment, size_t size);
void *hg_careful_memalign(size_t alignment, size_t size);
void *hg_careful_valloc(size_t size);
void *hg_careful_pvalloc(size_t size);
void hg_careful_free(void *block);

#endif
