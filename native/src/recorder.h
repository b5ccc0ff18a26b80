/* What an event means: the only door from the hooks to the rest.
 *
 * A hook enters, calls the real allocator, reports what happened and leaves. Events of one thread
 * never nest: what arrives in between is passed through (see lifecycle.h). Nothing here fails
 * towards the hook: what cannot be recorded is counted as a loss. */
#ifndef HG_RECORDER_H
#define HG_RECORDER_H

#include "base.h"
#include "ledger.h"
#include "lifecycle.h"
#include "thread.h"
#include "walk.h"

/* `frame` is the hook's own, here and below. */
HG_INLINE struct hg_thread *hg_recorder_enter(const struct hg_frame *frame, bool allocates) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(hg_load(&thread->state) != HG_THREAD_READY)) {
        return hg_lifecycle_enter_slow(frame, allocates);
    }
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    return thread;
}

HG_INLINE void hg_recorder_leave(struct hg_thread *thread) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hg_thread_be(thread, HG_THREAD_READY, 0);
}

/* The real allocator returned `block` for `size` bytes. */
void hg_recorder_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                           size_t size);

/* `block` is about to be given to the real free. Must come first: afterwards another thread may own
 * the address. False: nothing is known of it. */
bool hg_recorder_freeing(struct hg_thread *thread, const struct hg_frame *frame, void *block);

/* A block taken out of the ledger, on its way to realloc. */
struct hg_taken {
    struct hg_block block; /* site 0: not ours */
    size_t usable;
};

/* `block` is about to be given to the real realloc. */
struct hg_taken hg_recorder_take(struct hg_thread *thread, void *block);

/* ... which freed it. */
void hg_recorder_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                       const struct hg_taken *taken);

/* ... or realloc made `to` of it, `size` bytes large. */
void hg_recorder_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                         const struct hg_taken *taken, void *to, size_t size);

/* ... or realloc failed and the block stays what it was. */
void hg_recorder_kept(struct hg_thread *thread, void *block, const struct hg_taken *taken);

#endif
