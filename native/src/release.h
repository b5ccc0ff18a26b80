/* What all hooks that free have in common, and the frame that every hook hands on. */
#ifndef HG_RELEASE_H
#define HG_RELEASE_H

#include "real.h"
#include "recorder.h"

/* ---- release ----------------------------------------------------------------------------------- */

/* A hook's own frame. Only in the hook itself, never in a helper. */
#define FRAME() ((const struct hg_frame *)__builtin_frame_address(0))

/* A hook that hands its frame to a function must outlive it: no jump instead of a call. */
#define KEEP_FRAME() __asm__ volatile("")

/* free, for hooks that jump there. */
void hg_free(void *block);

/* Free a block, recorded. Its caller must keep its own frame. */
void hg_release(void *block, const struct hg_frame *frame);

/* ---- allocating -------------------------------------------------------------------------------- */

/* The hooks that allocate and give the block back, for files in which each of them has a form of its own:
 * X(name, parameters, arguments, the bytes asked for). */

#define HG_ALLOCATING(X)                                                       \
    X(malloc, (size_t size), (size), size)                                     \
    X(calloc, (size_t number, size_t size), (number, size), number *size)      \
    X(aligned_alloc, (size_t alignment, size_t size), (alignment, size), size) \
    X(memalign, (size_t alignment, size_t size), (alignment, size), size)      \
    X(valloc, (size_t size), (size), size)                                     \
    X(pvalloc, (size_t size), (size), size)

#endif
