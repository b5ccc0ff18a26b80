#include "recorder.h"

#include "clock.h"
#include "modules.h"
#include "options.h"
#include "peak.h"
#include "real.h"
#include "recording.h"
#include "sites.h"
#include "snapshots.h"
#include "stacks.h"

/* ---- stack -> site ------------------------------------------------------------------------------ */

/* 64 well-mixed bits stand for the stack in the thread's cache: with a million stacks the odds of
 * any two being confused are one in 37 million. */
static uint64_t hash_stack(const struct hg_walker *walker) {
    uint64_t a = walker->end + 1, b = walker->depth;
    uint32_t i = 0;
    for (; i + 1 < walker->depth; i += 2) {
        a = (a ^ walker->frames[i]) * UINT64_C(0x9fb21c651e98df25);
        a ^= a >> 32;
        b = (b ^ walker->frames[i + 1]) * UINT64_C(0xd6e8feb86659fd93);
        b ^= b >> 32;
    }
    if (i < walker->depth) a = (a ^ walker->frames[i]) * UINT64_C(0x9fb21c651e98df25);
    uint64_t h = (a ^ (a >> 29)) * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xc2b2ae3d27d4eb4f);
    h ^= h >> 31;
    return h ? h : 1;
}

static HG_NOINLINE void forget_stacks(struct hg_thread *thread) {
    __builtin_memset(thread->stacks, 0, sizeof thread->stacks);
    __builtin_memset(thread->children, 0, sizeof thread->children);
    thread->transcript.depth = 0;
    __builtin_memset(thread->memories, 0, sizeof thread->memories);
    thread->generation = hg_load_acquire(&g_modules_generation);
}

static HG_NOINLINE uint32_t find_site_slow(struct hg_thread *thread, struct hg_stack_entry *entry,
                                           uint64_t hash, uint64_t now_ns) {
    const struct hg_walker *w = &thread->walker;
    uint32_t site = hg_stacks_site(w->frames, w->depth, w->end, now_ns);
    hg_add_own(&thread->record->stats[HG_STAT_STACK_MISSES], 1);
    /* Not remembered when the table is full: each event of such a stack is a loss of its own. */
    if (site == HG_SITE_OTHER) hg_threads_lose(thread, HG_LOSS_SITES_FULL);
    else *entry = (struct hg_stack_entry){hash, site};
    return site;
}

#ifdef HG_CHECK_WALKS
/* Test builds: what the transcript says against a full walk. */
static void check_walk(struct hg_thread *thread, const struct hg_frame *frame, uint32_t known,
                       uint64_t now_ns) {
    struct hg_caller caller = hg_frame_caller(frame);
    hg_add_own(&thread->record->stats[HG_STAT_CHECKED], 1);
    struct hg_walker *w = &thread->walker;
    hg_walk(w, &caller, g_options.depth);
    uint32_t site = hg_stacks_site(w->frames, w->depth, w->end, now_ns);
    if (site != known) hg_add_own(&thread->record->stats[HG_STAT_MISMATCHES], 1);
}
#endif

static HG_NOINLINE uint32_t walk_site(struct hg_thread *thread, const struct hg_caller *caller,
                                      uint64_t now_ns) {
    hg_walk(&thread->walker, caller, g_options.depth);
    uint32_t end = thread->walker.end;
    if (HG_UNLIKELY(end)) hg_threads_lose(thread, HG_LOSS_STACK_DEPTH + end - HG_PSEUDO_DEPTH);
    uint64_t hash = hash_stack(&thread->walker);
    struct hg_stack_entry *entry = &thread->stacks[hash % HG_STACK_CACHE];
    if (HG_LIKELY(entry->hash == hash)) return entry->site;
    return find_site_slow(thread, entry, hash, now_ns);
}

/* The last walk does not hold as a whole. */
static HG_NOINLINE uint32_t find_site_anew(struct hg_thread *thread, const struct hg_frame *frame,
                                           uint64_t now_ns) {
    struct hg_caller caller = hg_frame_caller(frame);
    if (HG_UNLIKELY(thread->generation != hg_load(&g_modules_generation))) forget_stacks(thread);
    uint32_t site = hg_transcript_walk(&thread->transcript, thread->children, &thread->walker,
                                       &caller, g_options.depth, now_ns);
    hg_add_own(&thread->record->stats[HG_STAT_WALKS], 1);
    if (HG_UNLIKELY(site == HG_SITE_OTHER)) hg_threads_lose(thread, HG_LOSS_SITES_FULL);
    else if (site && hg_habit_says_keep(&thread->habit, thread->record->allocations))
        hg_memory_keep(thread->memories, &thread->transcript, site);
    return HG_LIKELY(site) ? site : walk_site(thread, &caller, now_ns);
}

HG_INLINE uint32_t find_site(struct hg_thread *thread, const struct hg_frame *frame,
                             uint64_t now_ns) {
    uint32_t site = hg_memory_recall(thread->memories, frame);
    bool is_current = thread->generation == hg_load(&g_modules_generation);
    if (HG_UNLIKELY(!site || !is_current)) site = find_site_anew(thread, frame, now_ns);
#ifdef HG_CHECK_WALKS
    check_walk(thread, frame, site, now_ns);
#endif
    return site;
}

/* ---- events --------------------------------------------------------------------------------------- */

HG_INLINE uint64_t event_time(struct hg_thread *thread) {
    return hg_clock_event(&thread->clock, &thread->record->losses[HG_LOSS_CLOCK]);
}

/* Ticks that a block has lived. Another thread's reading of the clock may be a little newer. */
HG_INLINE uint64_t lived(uint64_t now_ns, uint32_t birth) {
    uint64_t now = now_ns >> HG_TICK_SHIFT, born = hg_clock_ticks(birth);
    return now > born ? now - born : 0;
}

/* Snapshots by churn make every event due: see hg_snapshots_tick(). */
HG_INLINE void after_event(struct hg_thread *thread, uint64_t churn, uint64_t now_ns) {
    if (HG_UNLIKELY(now_ns >= thread->next_tick)) hg_snapshots_tick(thread, churn, now_ns);
}

/* The block that stood in the ledger at an address just handed out was freed unseen. */
static HG_NOINLINE void free_unseen(struct hg_thread *thread, struct hg_block block,
                                    uint64_t now_ns) {
    struct hg_counters *line = hg_sites_line(&thread->counters, block.site);
    hg_threads_lose(thread, HG_LOSS_MISSED_FREE);
    if (!line) return;
    int64_t delta = -(int64_t)block.size;
    hg_peak_before(delta);
    hg_peak_save(line);
    hg_sites_end_life(thread, line, lived(now_ns, block.birth));
    hg_sites_remove(line, block.size);
    hg_peak_after(thread, delta, now_ns);
    hg_add_own(&thread->record->frees, 1);
    hg_add_own(&thread->record->bytes_freed, block.size);
}

/* Enter a block into ledger and line; NULL, with the loss counted, when there is no room. */
static struct hg_counters *enter_block(struct hg_thread *thread, void *address,
                                       struct hg_block block, uint64_t now_ns) {
    struct hg_block replaced;
    struct hg_counters *line = hg_sites_line(&thread->counters, block.site);
    if (HG_UNLIKELY(!line)) {
        hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
        return NULL;
    }
    bool entered = hg_ledger_put((uintptr_t)address, block, &replaced);
    if (HG_UNLIKELY(replaced.site)) free_unseen(thread, replaced, now_ns);
    if (HG_LIKELY(entered)) return line;
    hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    return NULL;
}

HG_INLINE size_t usable_of(struct hg_thread *thread, void *block) {
    if (HG_LIKELY(g_real_has_size_word)) return hg_real_usable(block);
    /* Some allocators allocate when they are first asked. */
    hg_thread_become(thread, HG_THREAD_IN_ALLOCATOR);
    size_t usable = hg_real_usable(block);
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    return usable;
}

/* One word that tells blocks of one address apart. */
HG_INLINE uint64_t identity(struct hg_block block) {
    return block.size ^ (uint64_t)block.birth << HG_LEDGER_BIRTH_SHIFT ^
           (uint64_t)block.site << HG_LEDGER_SITE_SHIFT;
}

HG_INLINE void count_arrival(struct hg_thread *thread, void *block, struct hg_block entry) {
    struct hg_thread_record *record = thread->record;
    hg_add_own(&record->allocations, 1);
    hg_add_own(&record->bytes_allocated, entry.size);
    hg_add_own(&record->usable_allocated, usable_of(thread, block));
    thread->last_block = (uintptr_t)block;
    thread->last_entry = identity(entry);
}

/* Whether `block` is what this thread allocated last. Another thread may have freed that one and
 * been given its address; then site, birth or size differ, unless it runs the very same code in the
 * same millisecond. */
HG_INLINE bool is_temporary(const struct hg_thread *thread, void *block, struct hg_block entry) {
    return thread->last_block == (uintptr_t)block && thread->last_entry == identity(entry);
}

HG_INLINE void count_departure(struct hg_thread *thread, const struct hg_taken *taken) {
    struct hg_thread_record *record = thread->record;
    hg_add_own(&record->frees, 1);
    hg_add_own(&record->bytes_freed, taken->block.size);
    hg_add_own(&record->usable_freed, taken->usable);
}

/* Count a block that stands in the ledger now. */
HG_INLINE void arrive(struct hg_thread *thread, struct hg_counters *line, void *block,
                      struct hg_block entry, uint64_t now_ns) {
    hg_peak_before((int64_t)entry.size);
    hg_peak_save(line);
    hg_sites_add(thread, line, entry.size);
    hg_peak_after(thread, (int64_t)entry.size, now_ns);
    count_arrival(thread, block, entry);
    after_event(thread, entry.size, now_ns);
}

/* The block is large, or its record has to be made room for, or one still stands there. */
static HG_NOINLINE void arrive_slow(struct hg_thread *thread, void *block, struct hg_block entry,
                                    uint64_t now_ns) {
    struct hg_counters *line = enter_block(thread, block, entry, now_ns);
    if (line) arrive(thread, line, block, entry, now_ns);
}

void hg_recorder_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                           size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    uint64_t now = event_time(thread);
    uint32_t site = find_site(thread, frame, now);
    struct hg_block entry = {size, site, hg_clock_birth(now)};
    uint64_t *record = hg_ledger_find_by(HG_LEDGER_USUAL_SHIFT, (uintptr_t)block);
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    bool is_usual = hg_load(&g_ledger.is_usual) && size < HG_LEDGER_SMALL_LIMIT && record && line;
    if (HG_UNLIKELY(!is_usual || hg_load(record))) {
        arrive_slow(thread, block, entry, now);
        return;
    }
    hg_store(record, hg_ledger_pack_by(HG_LEDGER_USUAL_SHIFT, (uintptr_t)block, entry));
    arrive(thread, line, block, entry, now);
}

struct hg_taken hg_recorder_take(struct hg_thread *thread, void *block) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    struct hg_taken taken = {hg_ledger_take((uintptr_t)block), 0};
    if (HG_LIKELY(taken.block.site)) taken.usable = usable_of(thread, block);
    return taken;
}

static void count_unknown(struct hg_thread *thread) {
    bool inherited = g_header->flags & HG_FLAG_FORKED;
    hg_threads_lose(thread, inherited ? HG_LOSS_INHERITED_FREE : HG_LOSS_UNKNOWN_FREE);
}

/* Count the end of a block that was taken out of the ledger. */
HG_INLINE void depart(struct hg_thread *thread, struct hg_counters *line, void *block,
                      const struct hg_taken *taken) {
    uint64_t now = event_time(thread);
    uint64_t size = taken->block.size;
    hg_peak_before(-(int64_t)size);
    hg_peak_save(line);
    hg_sites_end_life(thread, line, lived(now, taken->block.birth));
    hg_sites_remove(line, size);
    if (is_temporary(thread, block, taken->block)) {
        hg_add_own(&line->temporary, 1);
        hg_add_own(&thread->record->temporary, 1);
        thread->last_block = 0;
    }
    hg_peak_after(thread, -(int64_t)size, now);
    count_departure(thread, taken);
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

static HG_NOINLINE bool free_slow(struct hg_thread *thread, const struct hg_frame *frame,
                                  void *block) {
    struct hg_taken taken = hg_recorder_take(thread, block);
    hg_recorder_freed(thread, frame, block, &taken);
    return taken.block.site != 0;
}

bool hg_recorder_freeing(struct hg_thread *thread, const struct hg_frame *frame, void *block) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    uint64_t *record = hg_ledger_find_by(HG_LEDGER_USUAL_SHIFT, (uintptr_t)block);
    bool is_usual = record && hg_load(&g_ledger.is_usual) && !hg_modules_is_loader(frame->pc);
    uint64_t word = HG_LIKELY(is_usual) ? hg_load(record) : 0;
    if (HG_UNLIKELY(!word)) return free_slow(thread, frame, block);
    uint32_t site = (uint32_t)(word >> HG_LEDGER_SITE_SHIFT);
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    if (HG_UNLIKELY(!line)) return free_slow(thread, frame, block);
    hg_store(record, 0);
    struct hg_taken taken = {hg_ledger_unpack(word), usable_of(thread, block)};
    depart(thread, line, block, &taken);
    return true;
}

/* The old side of a realloc whose new side found no room: the block is gone from the record. */
static HG_NOINLINE void leave_for_good(struct hg_thread *thread, struct hg_counters *line,
                                       const struct hg_taken *taken, uint64_t now_ns) {
    int64_t delta = -(int64_t)taken->block.size;
    hg_peak_before(delta);
    hg_peak_save(line);
    hg_sites_remove(line, taken->block.size);
    hg_add_own(&line->realloc_away, 1);
    hg_peak_after(thread, delta, now_ns);
    count_departure(thread, taken);
}

/* Both sides of a realloc as one change, so that the peak sees neither the gap nor the overlap. */
void hg_recorder_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                         const struct hg_taken *taken, void *to, size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    uint64_t now = event_time(thread);
    struct hg_block entry = {size, find_site(thread, frame, now), taken->block.birth};
    struct hg_counters *old = hg_sites_line(&thread->counters, taken->block.site);
    struct hg_counters *line = old ? enter_block(thread, to, entry, now) : NULL;
    if (HG_UNLIKELY(!old)) hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
    if (HG_UNLIKELY(!line)) {
        if (old) leave_for_good(thread, old, taken, now);
        return;
    }
    int64_t delta = (int64_t)size - (int64_t)taken->block.size;
    hg_peak_before(delta);
    hg_peak_save(old);
    hg_peak_save(line);
    hg_sites_remove(old, taken->block.size);
    hg_add_own(&old->realloc_away, 1);
    hg_sites_add(thread, line, size);
    hg_add_own(from == to ? &line->realloc_in_place : &line->realloc_moved, 1);
    hg_peak_after(thread, delta, now);
    count_departure(thread, taken);
    count_arrival(thread, to, entry);
    hg_add_own(&thread->record->reallocs, 1);
    after_event(thread, taken->block.size + size, now);
}

void hg_recorder_kept(struct hg_thread *thread, void *block, const struct hg_taken *taken) {
    struct hg_block replaced;
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    if (!hg_ledger_put((uintptr_t)block, taken->block, &replaced)) {
        hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    }
}
