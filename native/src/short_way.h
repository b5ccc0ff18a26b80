/* The short way of an event: what nearly all of them are. With glibc it is inlined into the hooks;
 * with other allocators the general way begins with it.
 *
 * A small block, a stack that the thread remembers, a record and a line that exist: then
 * an event is a few dozen instructions that call nothing, wait for nothing and cannot fail. It looks
 * at everything first and changes something only when nothing stands in the way; else it leaves all
 * as it is and says so, and the event takes the general way (recorder.h), which does the same. */
#ifndef HG_SHORT_WAY_H
#define HG_SHORT_WAY_H

#include "clock.h"
#include "ledger.h"
#include "locate.h"
#include "peak.h"
#include "real.h"
#include "recorder.h"
#include "sites.h"

enum hg_short {
    HG_SHORT_NO, /* nothing was done */
    HG_SHORT_DONE,
    HG_SHORT_RAISE, /* done, but for hg_peak_raise_again() */
};

/* Enter a block of a stack whose site and line are known, at the clock's time. `usable` is what the
 * allocator set aside; `shift` is the ledger's, a constant. */
HG_INLINE enum hg_short hg_short_enter(struct hg_thread *thread, void *block, size_t size,
                                       size_t usable, uint32_t shift, uint32_t site,
                                       struct hg_counters *line) {
    /* Blocks of no size do not raise the total, and may so end a rise: see hg_peak_before(). */
    uint64_t least = hg_ledger_least(shift) ? hg_ledger_least(shift) : 1;
    if (HG_UNLIKELY(size - least >= HG_LEDGER_SMALL_LIMIT - least)) return HG_SHORT_NO;
    const struct hg_ledger_view *view = hg_ledger_view(thread->views, shift, (uintptr_t)block);
    if (HG_UNLIKELY(!hg_ledger_is_in_view(view, shift, (uintptr_t)block))) return HG_SHORT_NO;
    uint64_t *record = hg_ledger_viewed(view, shift, (uintptr_t)block);
    if (HG_UNLIKELY(hg_glance(record))) return HG_SHORT_NO;
    if (HG_UNLIKELY(!hg_peak_is_own(thread, (int64_t)size))) return HG_SHORT_NO;
    if (HG_UNLIKELY(!hg_sites_is_usual(line, size) && !hg_sites_note_quickly(line, size))) {
        return HG_SHORT_NO;
    }
    uint64_t word = hg_ledger_word(shift, (uintptr_t)block, size, thread->clock.birth, site);
    hg_store(record, word);
    hg_peak_save(line);
    hg_sites_count(line, size);
    hg_recorder_count_arrival(thread, size, usable);
    thread->last = (struct hg_last){(uintptr_t)block, word, line};
    return HG_LIKELY(hg_peak_rise(thread, size)) ? HG_SHORT_DONE : HG_SHORT_RAISE;
}

/* The real allocator returned `block` for `size` bytes. */
HG_INLINE enum hg_short hg_short_arrive(struct hg_thread *thread, const struct hg_frame *frame,
                                        void *block, size_t size, size_t usable, uint32_t shift) {
    const struct hg_memory *m = hg_locate_quickly(thread, frame);
    if (HG_UNLIKELY(!m || !hg_clock_serves(&thread->clock))) return HG_SHORT_NO;
#ifdef HG_CHECK_WALKS
    hg_locate_check(thread, frame, m->site, thread->clock.now);
#endif
    enum hg_short way = hg_short_enter(thread, block, size, usable, shift, m->site, m->line);
    if (HG_LIKELY(way != HG_SHORT_NO)) hg_clock_serve(&thread->clock);
    return way;
}

/* ... which is glibc. */
HG_INLINE enum hg_short hg_short_allocated(struct hg_thread *thread, const struct hg_frame *frame,
                                           void *block, size_t size) {
    size_t word = hg_real_size_word(block);
    if (HG_UNLIKELY(hg_real_is_mmapped(word))) return HG_SHORT_NO;
    return hg_short_arrive(thread, frame, block, size, hg_real_usable_by(word),
                           HG_LEDGER_USUAL_SHIFT);
}

/* ... which is another. */
HG_INLINE enum hg_short hg_short_allocated_other(struct hg_thread *thread,
                                                 const struct hg_frame *frame, void *block,
                                                 size_t size) {
    return hg_short_arrive(thread, frame, block, size, hg_recorder_usable_by(thread, block, size),
                           HG_LEDGER_OTHER_SHIFT);
}

/* The bucket of a block's lifetime, told by its record. */
HG_INLINE uint32_t hg_short_lifetime(const struct hg_thread *thread, uint64_t word) {
    if (HG_LIKELY((word & HG_LEDGER_BIRTH_MASK) == thread->clock.birth)) return 0;
    return hg_sites_bucket(
        hg_recorder_ticks_since(hg_ledger_unpack(word).birth, thread->clock.now));
}

/* The line of a block that is about to be freed, by its record; NULL: there is none. If the block is
 * what the thread allocated last, `last` says so still; if only its address is, no longer. */
HG_INLINE struct hg_counters *hg_short_line(struct hg_thread *thread, void *block, uint64_t word) {
    if (thread->last.block == (uintptr_t)block) {
        if (HG_LIKELY(thread->last.identity == word)) return thread->last.line;
        thread->last.block = 0;
    }
    return hg_sites_line_at(&thread->counters, (uint32_t)(word >> HG_LEDGER_SITE_SHIFT));
}

/* `block` is about to be given to the real free; `shift` is the ledger's, a constant, and tells
 * glibc from others. False: nothing was done. */
HG_INLINE bool hg_short_depart(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                               uint32_t shift) {
    const struct hg_ledger_view *view = hg_ledger_view(thread->views, shift, (uintptr_t)block);
    if (HG_UNLIKELY(!hg_ledger_is_in_view(view, shift, (uintptr_t)block))) return false;
    uint64_t *record = hg_ledger_viewed(view, shift, (uintptr_t)block), word = hg_glance(record);
    if (HG_UNLIKELY(!word || hg_modules_is_loader(frame->pc))) return false;
    if (HG_UNLIKELY(!hg_clock_serves(&thread->clock))) return false;
    bool is_glibc = shift == HG_LEDGER_USUAL_SHIFT;
    if (HG_UNLIKELY(!is_glibc && !hg_ledger_is_at(shift, (uintptr_t)block, word))) return false;
    if (HG_UNLIKELY(is_glibc && hg_real_is_mmapped(hg_real_size_word(block)))) return false;
    struct hg_counters *line = hg_short_line(thread, block, word);
    uint64_t size = word & (HG_LEDGER_SMALL_LIMIT - 1);
    if (HG_UNLIKELY(!line || !hg_peak_is_own(thread, -(int64_t)size))) return false;
    /* Closing a peak changes nothing that the general way would not, too. */
    if (HG_UNLIKELY(!hg_peak_may_fall())) return false;
    if (HG_UNLIKELY(!hg_sites_end_life_quickly(line, hg_short_lifetime(thread, word)))) {
        return false;
    }
    size_t usable = is_glibc ? hg_real_usable_unmapped(hg_real_size_word(block))
                             : hg_recorder_usable_by(thread, block, size);
    hg_store(record, 0);
    hg_peak_save(line);
    hg_sites_remove(line, size);
    hg_clock_serve(&thread->clock);
    if (thread->last.block == (uintptr_t)block) hg_recorder_count_temporary(thread, line);
    hg_recorder_count_departure(thread, size, usable);
    hg_peak_fall(thread, size);
    return true;
}

#endif
