#include "recorder.h"

#include "clock.h"
#include "damage.h"
#include "locate.h"
#include "mode.h"
#include "modules.h"
#include "peak.h"
#include "real.h"
#include "recording.h"
#include "short_way.h"
#include "sites.h"
#include "snapshots.h"

HG_INLINE uint64_t event_time(struct hg_thread *thread) {
    uint64_t birth = thread->clock.birth;
    uint64_t now = hg_clock_event(&thread->clock, &thread->record->losses[HG_LOSS_CLOCK]);
    if (HG_UNLIKELY(thread->clock.birth != birth)) {
        hg_store(&thread->last.line, NULL);
        hg_damage_check();
    }
    return now;
}

/* Snapshots by churn make every event due: see hg_snapshots_tick(). */
HG_INLINE void after_event(struct hg_thread *thread, uint64_t churn, uint64_t now_ns) {
    if (HG_UNLIKELY(hg_load(&g_peak_mode) != HG_PEAK_SINGLE)) hg_usable_share(thread);
    if (HG_UNLIKELY(now_ns >= thread->next_tick)) hg_snapshots_tick(thread, churn, now_ns);
}

/* The block that stood in the ledger at an address just handed out was freed unseen. */
static HG_NOINLINE void free_unseen(struct hg_thread *thread, struct hg_block block,
                                    uint64_t now_ns) {
    struct hg_counters *line = hg_sites_line(&thread->counters, block.site);
    hg_threads_lose(thread, HG_LOSS_MISSED_FREE);
    if (!line) return;
    int64_t delta = -(int64_t)block.size;
    hg_peak_before(thread, delta);
    hg_peak_save(line);
    hg_sites_end_life(thread, line, hg_recorder_lived(now_ns, block.birth));
    hg_sites_remove(line, block.size);
    /* Who knows how much was set aside. */
    hg_recorder_count_departure(thread->record, block.size, 0, hg_peak_is_alone());
    hg_peak_after(thread, delta, now_ns);
}

/* What the short way finds in the shadow it takes for a block of jemalloc's class for its size. Aligned
 * ones may be of another: they stand apart. */
static bool is_of_other_class(struct hg_thread *thread, void *block, size_t size) {
    if (HG_LIKELY(g_real_has_size_word)) return false;
    size_t expected = hg_real_class(size);
    return expected && expected != hg_recorder_usable(thread, block);
}

/* The loader's own blocks stand apart, too: its free of one may end the life of an object, and only the
 * general way looks. */
static bool is_apart(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                     size_t size) {
    return HG_UNLIKELY(hg_modules_is_loader(frame->pc)) || is_of_other_class(thread, block, size);
}

static bool put(void *address, struct hg_block block, bool apart, struct hg_block *replaced) {
    return apart ? hg_ledger_put_apart((uintptr_t)address, block, replaced)
                 : hg_ledger_put((uintptr_t)address, block, replaced);
}

/* Enter a block into ledger and line; NULL, with the loss counted, when there is no room. */
static struct hg_counters *enter_block(struct hg_thread *thread, void *address,
                                       struct hg_block block, bool apart, uint64_t now_ns) {
    struct hg_block replaced;
    struct hg_counters *line = hg_sites_line(&thread->counters, block.site);
    if (HG_UNLIKELY(!line)) {
        hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
        return NULL;
    }
    bool entered = put(address, block, apart, &replaced);
    if (HG_UNLIKELY(replaced.site)) free_unseen(thread, replaced, now_ns);
    if (HG_LIKELY(entered)) return line;
    hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    return NULL;
}

/* One word that tells blocks of one address apart; of a small block its record in the ledger. */
HG_INLINE uint64_t identity(void *block, struct hg_block entry) {
    return hg_ledger_pack((uintptr_t)block, entry);
}

/* Count a block that stands in the ledger now. */
static HG_NOINLINE void arrive(struct hg_thread *thread, struct hg_counters *line, void *block,
                               struct hg_block entry) {
    uint64_t now = thread->clock.now;
    size_t usable = hg_recorder_usable(thread, block);
    hg_peak_save(line);
    hg_sites_add(thread, line, entry.size);
    hg_recorder_count_arrival(thread->record, entry.size, usable, hg_peak_is_alone());
    hg_peak_after(thread, (int64_t)entry.size, now);
    hg_recorder_remember(thread, block, identity(block, entry), line);
    after_event(thread, entry.size, now);
}

/* The rest of the short way, once the stack is known. */
static bool entered_shortly(struct hg_thread *thread, void *block, size_t size,
                            struct hg_place place) {
    uint64_t *record;
    uint32_t shift = g_ledger.granule_shift;
    if (!hg_ledger_see(&thread->views, shift, (uintptr_t)block, &record)) return false;
    if (HG_LIKELY(hg_glance(&g_is_short_way_open))) {
        if (HG_UNLIKELY(hg_real_is_mmapped(hg_real_size_word(block)))) return false;
        return hg_short_enter(thread, block, size, HG_SHORT_GLIBC, record, place,
                              hg_peak_is_alone());
    }
    if (!hg_glance(&g_is_other_way_open)) return false;
    return hg_short_enter(thread, block, size, HG_SHORT_ASKED, record, place, hg_peak_is_alone());
}

void hg_recorder_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                           size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    hg_threads_note(thread, HG_STAT_GENERAL, 1);
    hg_peak_before(thread, (int64_t)size);
    uint64_t now = event_time(thread);
    struct hg_block entry = {size, hg_locate_site(thread, frame, now), hg_clock_birth(now)};
    struct hg_counters *line = hg_sites_line(&thread->counters, entry.site);
    bool apart = is_apart(thread, frame, block, size);
    /* What is remembered takes the short way. */
    if (HG_LIKELY(!hg_modules_is_loader(frame->pc)))
        hg_recall_keep_line(&thread->recall, entry.site, line);
    if (HG_LIKELY(!apart && line &&
                  entered_shortly(thread, block, size, (struct hg_place){line, entry.site}))) {
        after_event(thread, size, now);
        return;
    }
    line = enter_block(thread, block, entry, apart, now);
    if (HG_UNLIKELY(!line)) return;
    hg_ledger_look_at(&thread->views, (uintptr_t)block, size);
    arrive(thread, line, block, entry);
}

void hg_recorder_allocated_plainly(struct hg_thread *thread, const struct hg_frame *frame,
                                   void *block, size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    bool is_done = hg_mode_is_other(hg_mode()) &&
                   hg_short_arrive(thread, frame, block, size, HG_SHORT_ASKED, hg_peak_is_alone());
    if (!is_done) hg_recorder_allocated(thread, frame, block, size);
}

struct hg_taken hg_recorder_take(struct hg_thread *thread, void *block) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    struct hg_taken taken = {hg_ledger_take((uintptr_t)block), 0};
    if (HG_LIKELY(taken.block.site)) taken.usable = hg_recorder_usable(thread, block);
    return taken;
}

static void count_unknown(struct hg_thread *thread) {
    bool inherited = g_header->flags & HG_FLAG_FORKED;
    hg_threads_lose(thread, inherited ? HG_LOSS_INHERITED_FREE : HG_LOSS_UNKNOWN_FREE);
}

/* Count the end of a block that was taken out of the ledger. */
static HG_NOINLINE void depart(struct hg_thread *thread, struct hg_counters *line, void *block,
                               const struct hg_taken *taken) {
    uint64_t size = taken->block.size;
    hg_peak_before(thread, -(int64_t)size);
    uint64_t now = event_time(thread);
    hg_peak_save(line);
    hg_sites_end_life(thread, line, hg_recorder_lived(now, taken->block.birth));
    hg_sites_remove(line, size);
    if (hg_recorder_is_temporary(thread, block, identity(block, taken->block)))
        hg_recorder_count_temporary(thread, line);
    hg_recorder_count_departure(thread->record, size, taken->usable, hg_peak_is_alone());
    hg_peak_after(thread, -(int64_t)size, now);
    after_event(thread, size, now);
}

void hg_recorder_freed(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                       const struct hg_taken *taken) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    if (HG_UNLIKELY(hg_modules_is_loader(frame->pc))) hg_modules_check_unloaded();
    if (!taken->block.site) {
        count_unknown(thread);
        return;
    }
    struct hg_counters *line = hg_sites_line(&thread->counters, taken->block.site);
    if (line) depart(thread, line, block, taken);
    else hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
}

bool hg_recorder_freeing(struct hg_thread *thread, const struct hg_frame *frame, void *block) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    hg_threads_note(thread, HG_STAT_GENERAL, 1);
    struct hg_taken taken = hg_recorder_take(thread, block);
    hg_ledger_look_at(&thread->views, (uintptr_t)block, taken.block.size);
    hg_recorder_freed(thread, frame, block, &taken);
    return taken.block.site != 0;
}

/* The old side of a realloc whose new side found no room: the block is gone from the record. */
static HG_NOINLINE void leave_for_good(struct hg_thread *thread, struct hg_counters *line,
                                       const struct hg_taken *taken, uint64_t now_ns) {
    int64_t delta = -(int64_t)taken->block.size;
    hg_peak_before(thread, delta);
    hg_peak_save(line);
    hg_sites_remove(line, taken->block.size);
    hg_add_own(&line->realloc_away, 1);
    hg_recorder_count_departure(thread->record, taken->block.size, taken->usable,
                                hg_peak_is_alone());
    hg_peak_after(thread, delta, now_ns);
}

/* Both sides of a realloc as one change, so that the peak sees neither the gap nor the overlap. */
void hg_recorder_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                         const struct hg_taken *taken, void *to, size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    int64_t delta = (int64_t)size - (int64_t)taken->block.size;
    hg_peak_before(thread, delta);
    uint64_t now = event_time(thread);
    struct hg_block entry = {size, hg_locate_first(thread, frame, now), taken->block.birth};
    struct hg_counters *old = hg_sites_line(&thread->counters, taken->block.site);
    hg_store(&thread->last.block, 0); /* `from` may stay where it is */
    bool apart = is_apart(thread, frame, to, size);
    struct hg_counters *line = old ? enter_block(thread, to, entry, apart, now) : NULL;
    hg_recall_keep_line(&thread->recall, entry.site, line);
    if (HG_UNLIKELY(!old)) hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
    if (HG_UNLIKELY(!line)) {
        if (old) leave_for_good(thread, old, taken, now);
        return;
    }
    hg_peak_save(old);
    hg_peak_save(line);
    hg_sites_remove(old, taken->block.size);
    hg_add_own(&old->realloc_away, 1);
    hg_sites_add(thread, line, size);
    hg_add_own(from == to ? &line->realloc_in_place : &line->realloc_moved, 1);
    bool is_alone = hg_peak_is_alone();
    hg_recorder_count_departure(thread->record, taken->block.size, taken->usable, is_alone);
    hg_recorder_count_arrival(thread->record, size, hg_recorder_usable(thread, to), is_alone);
    hg_peak_after(thread, delta, now);
    hg_recorder_remember(thread, to, identity(to, entry), line);
    hg_add_own(&thread->record->reallocs, 1);
    after_event(thread, taken->block.size + size, now);
}

void hg_recorder_kept(struct hg_thread *thread, void *block, const struct hg_taken *taken) {
    struct hg_block replaced;
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    bool apart = is_of_other_class(thread, block, taken->block.size);
    if (!put(block, taken->block, apart, &replaced)) {
        hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    }
}

uint64_t hg_recorder_time(struct hg_thread *thread) { return event_time(thread); }
