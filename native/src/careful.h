/* The hooks while blocks are sampled above other allocators than glibc's, in the place of those in hooks.c,
 * which jump here. Such an allocator may call itself through us, and has to be asked how large a block
 * is: the thread is marked as inside it meanwhile. */
#ifndef HG_CAREFUL_H
#define HG_CAREFUL_H

#include "base.h"

void *hg_careful_malloc(size_t size);
void *hg_careful_calloc(size_t number, size_t size);
void *hg_careful_aligned_alloc(size_t alignment, size_t size);
void *hg_careful_memalign(size_t alignment, size_t size);
void *hg_careful_valloc(size_t size);
void *hg_careful_pvalloc(size_t size);
void hg_careful_free(void *block);

#endif
