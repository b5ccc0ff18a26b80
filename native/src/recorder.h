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
#include "peak.h"
#include "real.h"
#include "tally.h"
#include "thread.h"
#include "walk.h"

/* Whether an event can begin at once; if not, it takes hg_lifecycle_enter_slow(). */
HG_INLINE bool hg_recorder_is_ready(const struct hg_thread *thread) {
    return HG_LIKELY(hg_glance(&thread->state) == HG_THREAD_READY);
}

/* `frame` is the hook's own, here and below. */
HG_INLINE struct hg_thread *hg_recorder_enter(const struct hg_frame *frame, bool allocates) {
    struct hg_thread *thread = tls_thread;
    if (HG_UNLIKELY(!hg_recorder_is_ready(thread))) {
        return hg_lifecycle_enter_slow(frame, allocates);
    }
    hg_thread_be(thread, HG_THREAD_IN_ALLOCATOR, hg_frame_sp(frame));
    return thread;
}

HG_INLINE void hg_recorder_leave(struct hg_thread *thread) {
    hg_in_order();
    hg_thread_be(thread, HG_THREAD_READY, 0);
}

/* The real allocator returned `block` for `size` bytes: the general way (see short_way.h). */
void hg_recorder_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                           size_t size);

/* The same of a block that malloc gave, or would have given: by a short way, if there is one. */
void hg_recorder_allocated_plainly(struct hg_thread *thread, const struct hg_frame *frame,
                                   void *block, size_t size);

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

/* The time of an event, in every mode. */
uint64_t hg_recorder_time(struct hg_thread *thread);

/* What the general way and the short one have in common. */

HG_INLINE size_t hg_recorder_usable(struct hg_thread *thread, void *block) {
    if (HG_LIKELY(g_real_has_size_word)) return hg_real_usable(block);
    /* Some allocators allocate when they are first asked. */
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    size_t usable = hg_real_usable(block);
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    return usable;
}

/* The same for a block of malloc's or calloc's, or one in the shadow: see enter_block(). */
HG_INLINE size_t hg_recorder_usable_by(struct hg_thread *thread, void *block, size_t size) {
    size_t known = hg_real_class(size);
    return HG_LIKELY(known) ? known : hg_recorder_usable(thread, block);
}

/* Ticks since a birth. Another thread's reading of the clock may be a little newer. */
HG_INLINE uint64_t hg_recorder_ticks_since(uint32_t birth, uint64_t now_ns) {
    uint64_t now = now_ns >> HG_TICK_SHIFT, born = hg_clock_ticks(birth);
    return now > born ? now - born : 0;
}

/* Ticks that a block has lived: none if births do not tell its own from now. */
HG_INLINE uint64_t hg_recorder_lived(uint64_t now_ns, uint32_t birth) {
    return birth == hg_clock_birth(now_ns) ? 0 : hg_recorder_ticks_since(birth, now_ns);
}

/* `is_alone`: there is no other thread; see peak.h. */
HG_INLINE void hg_recorder_count_arrival(struct hg_thread_record *record, size_t size,
                                         size_t usable, bool is_alone) {
    hg_add_at_once(&record->allocations, 1);
    hg_add_at_once(&record->bytes_allocated, size);
    hg_add_at_once(&record->usable_allocated, usable);
    if (is_alone) hg_visible_arrival(size);
}

HG_INLINE void hg_recorder_count_departure(struct hg_thread_record *record, size_t size,
                                           size_t usable, bool is_alone) {
    if (is_alone) hg_usable_fall(record);
    hg_add_at_once(&record->frees, 1);
    hg_add_at_once(&record->bytes_freed, size);
    hg_add_at_once(&record->usable_freed, usable);
    if (is_alone) hg_visible_departure(size);
}

/* This thread allocated `block` last. A signal handler may allocate in between; then nothing is said of either,
 * as the identity is that one's: if both have the same, which tells the site, the line is the same, too. */
HG_INLINE void hg_recorder_remember(struct hg_thread *thread, void *block, uint64_t identity,
                                    struct hg_counters *line) {
    struct hg_last *last = &thread->last;
    hg_store(&last->identity, identity);
    hg_in_order();
    hg_store(&last->line, line);
    hg_in_order();
    hg_store(&last->block, (uintptr_t)block);
}

/* Whether `block` is what this thread allocated last; `identity` is its record in glibc's ledger, or
 * what that would be. Another thread may have freed that one and been given its address; then site,
 * birth or size differ, unless it runs the very same code in the same millisecond. */
HG_INLINE bool hg_recorder_is_temporary(const struct hg_thread *thread, void *block,
                                        uint64_t identity) {
    return thread->last.block == (uintptr_t)block && thread->last.identity == identity;
}

HG_INLINE void hg_recorder_count_temporary(struct hg_thread *thread, struct hg_counters *line) {
    hg_add_at_once(&line->temporary, 1);
    hg_add_at_once(&thread->record->temporary, 1);
    thread->last.block = 0;
}

#endif
