/* What all hooks that free have in common, and the frame that every hook hands on. */
#ifndef HG_RELEASE_H
#define HG_RELEASE_H

#include "real.h"
#include "recorder.h"

/* A hook's own frame. Only in the hook itself, never in a helper. */
#define FRAME() ((const struct hg_frame *)__builtin_frame_address(0))

/* A hook that hands its frame to a function must outlive it: no jump instead of a call. */
#define KEEP_FRAME() __asm__ volatile("")

/* free, for hooks that jump there. */
void hg_free(void *block);

/* Free a block, recorded. Its caller must keep its own frame. */
void hg_release(void *block, const struct hg_frame *frame);

#endif
