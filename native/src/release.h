/* What all hooks that free have in common, and the frame that every hook hands on. */
#ifndef HG_RELEASE_H
#define HG_RELEASE_H

#include "real.h"
#include "recorder.h"

/* A hook's own frame. Only in the hook itself, never in a helper. */
#define FRAME() ((const struct hg_frame *)__builtin_frame_address(0))

/* A hook that hands its frame to a function must outlive it: no jump instead of a call. */
#define KEEP_FRAME(frame) __asm__ volatile("" ::"r"(frame))

/* A block nothing is known of may be from the time before the real allocator was found. */
HG_INLINE void hg_release_unknown(void *block) {
    if (!hg_real_is_arena(block)) g_real.free(block);
}

HG_INLINE void hg_release(void *block, const struct hg_frame *frame) {
    if (!block) return;
    struct hg_thread *thread = hg_recorder_enter(frame, false);
    if (HG_UNLIKELY(!thread)) {
        hg_release_unknown(block);
        return;
    }
    bool known = hg_recorder_freeing(thread, frame, block);
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    if (HG_LIKELY(known)) g_real.free(block);
    else hg_release_unknown(block);
    hg_recorder_leave(thread);
}

#endif
