/* The short way of an event: what nearly all of them are. With glibc it is inlined into the hooks;
 * with other allocators the general way begins with it.
 *
 * A small block, a stack that the thread remembers, a record and a line that exist: then
 * an event is a few dozen instructions that call nothing, wait for nothing and cannot fail. It looks
 * at everything first and changes something only when nothing stands in the way; else it leaves all
 * as it is and says so, and the event takes the general way (recorder.h), which does the same.
 *
 * Above glibc and jemalloc the thread does not even say that it is in the recorder. A signal handler that allocates
 * meanwhile has events like any other: each number here is moved by a single instruction, and what is
 * made of several words is read, or looked at again, in an order in which a change is seen. Only if the
 * handler makes a peak, or ends one, the block of the event that it interrupted may be missing from its
 * site's share of that.
 *
 * `is_alone`: there is no other thread (see peak.h); for hooks above glibc a constant. */
#ifndef HG_SHORT_WAY_H
#define HG_SHORT_WAY_H

#include "clock.h"
#include "ledger.h"
#include "locate.h"
#include "peak.h"
#include "real.h"
#include "recorder.h"
#include "sites.h"

/* How it is known what the allocator set aside for a block: a constant of each way. */
enum hg_short_kind {
    HG_SHORT_GLIBC,   /* it stands in front of the block */
    HG_SHORT_CLASSED, /* the class of the size tells */
    HG_SHORT_ASKED,   /* the allocator may have to be asked, by a thread that is in the recorder */
};

HG_INLINE uint32_t hg_short_shift(enum hg_short_kind kind) {
    return kind == HG_SHORT_GLIBC ? HG_LEDGER_USUAL_SHIFT : HG_LEDGER_OTHER_SHIFT;
}

/* Blocks from this size on take the general way. */
HG_INLINE uint64_t hg_short_limit(enum hg_short_kind kind) {
    bool is_by_class = kind == HG_SHORT_CLASSED && HG_REAL_CLASSED < HG_LEDGER_SMALL_LIMIT;
    return is_by_class ? HG_REAL_CLASSED + 1 : HG_LEDGER_SMALL_LIMIT;
}

/* The record that a fresh block is to have, if it is in view. That of a middle block says beforehand where it
 * starts: as long as the word is 0, that means nothing. */
HG_INLINE bool hg_short_see_free(struct hg_thread *thread, void *block, size_t size,
                                 enum hg_short_kind kind, uint64_t **record) {
    struct hg_middle *middle;
    if (HG_LIKELY(hg_ledger_see(&thread->views, hg_short_shift(kind), (uintptr_t)block, record)))
        return true;
    if (size - HG_MIDDLE_LEAST >= hg_short_limit(kind) - HG_MIDDLE_LEAST) return false;
    if (!hg_ledger_see_middle(&thread->views, (uintptr_t)block, &middle)) return false;
    if (HG_UNLIKELY(hg_glance(&middle->record))) return false;
    hg_store(&middle->address, (uintptr_t)block);
    hg_in_order();
    *record = &middle->record;
    return true;
}

/* The record that a block may have. */
HG_INLINE bool hg_short_see_taken(struct hg_thread *thread, void *block, uint32_t shift,
                                  uint64_t **record) {
    struct hg_middle *middle;
    if (HG_LIKELY(hg_ledger_see(&thread->views, shift, (uintptr_t)block, record))) return true;
    if (!hg_ledger_see_middle(&thread->views, (uintptr_t)block, &middle)) return false;
    *record = &middle->record;
    return hg_glance(&middle->address) == (uintptr_t)block;
}

/* What the allocator set aside. Above glibc read anew by whoever wants it: no register to save for it. */
HG_INLINE size_t hg_short_usable(struct hg_thread *thread, void *block, size_t size,
                                 enum hg_short_kind kind) {
    if (kind == HG_SHORT_GLIBC) return hg_real_usable_unmapped(hg_real_size_word(block));
    return kind == HG_SHORT_CLASSED ? g_real_classes[(size + 7) / 8]
                                    : hg_recorder_usable_by(thread, block, size);
}

/* Enter a block, that is not mmapped, of a stack whose place is known, at the clock's time. `record` is
 * where it stands in the ledger. False, here and below: nothing was done. */
HG_INLINE bool hg_short_enter(struct hg_thread *thread, void *block, size_t size,
                              enum hg_short_kind kind, uint64_t *record, struct hg_place place,
                              bool is_alone) {
    struct hg_counters *line = place.line;
    uint32_t shift = hg_short_shift(kind);
    /* Blocks of no size do not raise the total, and may so end a rise: see hg_peak_before(). */
    uint64_t least = hg_ledger_least(shift) ? hg_ledger_least(shift) : 1;
    if (HG_UNLIKELY(size - least >= hg_short_limit(kind) - least)) return false;
    if (HG_UNLIKELY(hg_glance(record))) return false;
    if (!is_alone && !(hg_peak_is_own(thread, (int64_t)size) && hg_peak_may_rise())) return false;
    if (HG_UNLIKELY(!hg_sites_is_usual(line, size) && !hg_sites_note_quickly(line, size))) {
        return false;
    }
    uint64_t word = hg_ledger_word(shift, (uintptr_t)block, size, thread->clock.birth, place.site);
    hg_store(record, word);
    hg_peak_save(line);
    hg_sites_count(line, size);
    size_t usable = hg_short_usable(thread, block, size, kind);
    struct hg_thread_record *totals = thread->record;
    hg_recorder_count_arrival(totals, size, usable, is_alone);
    if (!is_alone) hg_peak_rise_own(totals, size);
    hg_recorder_remember(thread, block, word, line);
    hg_clock_serve(&thread->clock);
    return true;
}

/* The real allocator returned `block` for `size` bytes, or NULL, which is in no view. */
HG_INLINE bool hg_short_arrive(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                               size_t size, enum hg_short_kind kind, bool is_alone) {
    bool is_glibc = kind == HG_SHORT_GLIBC;
    uint64_t *record;
    if (!hg_short_see_free(thread, block, size, kind, &record)) return false;
    if (HG_UNLIKELY(is_glibc && hg_real_is_mmapped(hg_real_size_word(block)))) return false;
    /* A fresh block's is in no cache; meanwhile the stack is looked at. */
    __builtin_prefetch(record, 1);
    struct hg_place place;
    if (HG_UNLIKELY(!hg_locate_quickly(thread, frame, &place))) return false;
    if (HG_UNLIKELY(!hg_clock_serves(&thread->clock))) return false;
#ifdef HG_CHECK_WALKS
    uint64_t state = hg_load(&thread->state);
    hg_thread_be(thread, HG_THREAD_IN_RECORDER, hg_frame_sp(frame));
    hg_locate_check(thread, frame, place.site, thread->clock.now);
    hg_store(&thread->state, state);
#endif
    return hg_short_enter(thread, block, size, kind, record, place, is_alone);
}

/* Note the lifetime of a block, told by its record, if it is nothing new to the line. */
HG_INLINE bool hg_short_end_life(const struct hg_thread *thread, struct hg_counters *line,
                                 uint64_t word) {
    bool is_young = (word & HG_LEDGER_BIRTH_MASK) == thread->clock.birth;
    if (HG_LIKELY(is_young && hg_load(&line->lifetime_bucket) == 1)) return true;
    uint64_t ticks =
        is_young ? 0 : hg_recorder_ticks_since(hg_ledger_unpack(word).birth, thread->clock.now);
    return hg_sites_end_life_quickly(line, hg_sites_bucket(ticks));
}

/* Whether the block of this record is what the thread allocated last; if only its address is, nothing is
 * known of the last block any more. */
HG_INLINE bool hg_short_is_last(struct hg_thread *thread, void *block, uint64_t word) {
    if (hg_glance(&thread->last.block) != (uintptr_t)block) return false;
    if (HG_LIKELY(hg_glance(&thread->last.identity) == word)) return true;
    hg_store(&thread->last.block, 0);
    return false;
}

/* Take a block of this line out of its record. */
HG_INLINE void hg_short_leave(struct hg_thread *thread, struct hg_counters *line, void *block,
                              uint64_t *record, uint64_t size, enum hg_short_kind kind,
                              bool is_alone) {
    hg_store(record, 0);
    size_t usable = hg_short_usable(thread, block, size, kind);
    hg_peak_save(line);
    hg_sites_remove(line, size);
    hg_clock_serve(&thread->clock);
    struct hg_thread_record *totals = thread->record;
    hg_recorder_count_departure(totals, size, usable, is_alone);
    if (!is_alone) hg_peak_fall_own(totals, size);
}

/* `block` is about to be given to the real free. NULL is in no view, and what the loader allocated not in
 * the shadow. Alone, no peak must be under way: see hg_peak_falls(). */
HG_INLINE bool hg_short_depart(struct hg_thread *thread, void *block, enum hg_short_kind kind,
                               bool is_alone) {
    bool is_glibc = kind == HG_SHORT_GLIBC;
    uint32_t shift = hg_short_shift(kind);
    uint64_t *record;
    if (!hg_short_see_taken(thread, block, shift, &record)) return false;
    uint64_t word = hg_glance(record);
    if (HG_UNLIKELY(!word || !hg_clock_serves(&thread->clock))) return false;
    if (HG_UNLIKELY(!is_glibc && !hg_ledger_is_at(shift, (uintptr_t)block, word))) return false;
    if (HG_UNLIKELY(is_glibc && hg_real_is_mmapped(hg_real_size_word(block)))) return false;
    uint64_t size = word & (HG_LEDGER_SMALL_LIMIT - 1);
    if (HG_UNLIKELY(kind == HG_SHORT_CLASSED && size >= hg_short_limit(kind))) return false;
    if (!is_alone && !(hg_peak_is_own(thread, -(int64_t)size) && hg_peak_may_fall())) return false;

    struct hg_counters *line = hg_glance(&thread->last.line);
    hg_in_order(); /* a signal handler that allocates changes the block, too */
    if (hg_short_is_last(thread, block, word)) {
        /* Young: the line is forgotten when the clock goes on. */
        if (HG_UNLIKELY(!line || !hg_sites_end_life_quickly(line, 0))) return false;
        hg_recorder_count_temporary(thread, line);
        hg_short_leave(thread, line, block, record, size, kind, is_alone);
        return true;
    }
    uint32_t site = (uint32_t)(word >> HG_LEDGER_SITE_SHIFT);
    if (!hg_sites_has_line(&thread->counters, site, &line)) return false;
    if (HG_UNLIKELY(!hg_short_end_life(thread, line, word))) return false;
    hg_short_leave(thread, line, block, record, size, kind, is_alone);
    return true;
}

#endif
