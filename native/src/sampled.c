#include "sampled.h"

#include "budget.h"
#include "clock.h"
#include "filter.h"
#include "large.h"
#include "locate.h"
#include "mode.h"
#include "modules.h"
#include "peak.h"
#include "share.h"
#include "snapshots.h"
#include "stacks.h"

static void after_event(struct hg_thread *thread, uint64_t churn, uint64_t now_ns) {
    if (HG_LIKELY(now_ns < thread->next_tick)) return;
    uint64_t begun = hg_budget_begin_rare();
    hg_tally_settle(thread);
    hg_snapshots_tick(thread, churn, now_ns);
    hg_budget_end_rare(begun);
    hg_budget_tick(now_ns);
}

/* Nothing was recorded. Within a budget such events show how little the program does by now. */
static void look(struct hg_thread *thread) {
    if (hg_budget_is_on()) after_event(thread, 0, hg_recorder_time(thread));
}

static void count_added(struct hg_thread *thread, void *block, size_t size) {
    size_t usable = hg_recorder_usable(thread, block);
    if (hg_tally_add(&thread->tally, thread->record, size, usable)) hg_tally_settle(thread);
}

static void count_removed(struct hg_thread *thread, size_t usable) {
    int64_t live = hg_tally_live(thread->record);
    if (hg_tally_remove(&thread->tally, thread->record, live, usable)) hg_tally_settle(thread);
}

static bool is_in_open_table(const struct hg_block *block) {
    return hg_stacks_sample_shift(block->site) || !hg_ledger_is_shadowed(block->size);
}

/* A block leaves the record: it was freed, at `now_ns`, or realloc made another of it. */
static void leave(struct hg_thread *thread, void *address, const struct hg_block *block,
                  uint64_t now_ns, bool is_freed) {
    struct hg_share share;
    if (is_in_open_table(block)) hg_filter_remove(address);
    if (!hg_share_find(thread, *block, &share)) return;
    hg_peak_save(share.line);
    if (is_freed) hg_share_end_life(thread, &share, hg_recorder_lived(now_ns, block->birth));
    else hg_share_note(thread, &share, HG_OUTCOME_REALLOC_AWAY);
    bool is_last = thread->last.block == (uintptr_t)address;
    /* No allocation since: the thread's count of them still is what it was. */
    if (is_freed && is_last && thread->last.identity == thread->record->allocations) {
        hg_share_note(thread, &share, HG_OUTCOME_TEMPORARY);
        thread->last.block = 0;
    }
    hg_share_depart(&share);
    after_event(thread, share.weight.bytes, now_ns);
}

/* Exactly recorded blocks are found by looking, and then the hooks have to look. */
static void see_shadow(void) {
    if (HG_LIKELY(hg_load(&g_filter.has_shadow))) return;
    hg_filter_see_shadow();
    hg_mode_look_closer();
}

/* Sampled blocks stand in the open table: a shadow of the heap for so few would be mostly empty. */
static bool enter_ledger(struct hg_thread *thread, void *address, const struct hg_block *block,
                         bool is_sampled, uint64_t now_ns) {
    struct hg_block replaced = {0};
    bool entered, is_open = is_in_open_table(block);
    if (is_open) hg_filter_add(address);
    else see_shadow();
    if (is_sampled) {
        if (hg_filter_may_hold(address)) replaced = hg_ledger_take((uintptr_t)address);
        entered = hg_large_put((uintptr_t)address, *block);
    } else {
        entered = hg_ledger_put((uintptr_t)address, *block, &replaced);
    }
    if (!entered && is_open) hg_filter_remove(address);
    if (replaced.site) {
        hg_threads_lose(thread, HG_LOSS_MISSED_FREE);
        leave(thread, address, &replaced, now_ns, true);
    }
    if (!entered) hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
    return entered;
}

/* What it was entered as, for a realloc to be counted. False: there was no room. */
static bool enter(struct hg_thread *thread, const struct hg_frame *frame, void *address,
                  size_t size, uint32_t shift, uint32_t birth, struct hg_share *share) {
    uint64_t now = hg_recorder_time(thread);
    uint32_t site = hg_locate_site(thread, frame, now);
    if (shift) site = hg_stacks_sampled(site, shift, now);
    if (shift && site == HG_SITE_OTHER) {
        hg_threads_lose(thread, HG_LOSS_SITES_FULL);
        site = hg_stacks_sampled(HG_SITE_OTHER, shift, now);
    }
    struct hg_block block = {size, site, birth ? birth : hg_clock_birth(now)};
    if (!hg_share_find(thread, block, share)) return false;
    if (!enter_ledger(thread, address, &block, shift != 0, now)) return false;
    hg_peak_save(share->line);
    hg_share_arrive(thread, share, size);
    thread->last = (struct hg_last){(uintptr_t)address, thread->record->allocations, share->line};
    after_event(thread, share->weight.bytes, now);
    return true;
}

void hg_sampled_allocated(struct hg_thread *thread, const struct hg_frame *frame, void *block,
                          size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    uint64_t begun = hg_budget_begin(thread);
    count_added(thread, block, size);
    uint32_t shift = hg_sampler_take(hg_thread_sampler(thread), size);
    struct hg_share share;
    if (shift == HG_SAMPLER_PASS) {
        look(thread);
        hg_budget_end_look(begun);
    } else {
        enter(thread, frame, block, size, shift, 0, &share);
        hg_budget_end(begun);
    }
}

struct hg_taken hg_sampled_take(struct hg_thread *thread, void *block) {
    struct hg_taken taken = {{0}, 0};
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    if (hg_filter_may_hold(block)) taken.block = hg_ledger_take((uintptr_t)block);
    taken.usable = hg_recorder_usable(thread, block);
    return taken;
}

/* While paused only what is known counts. */
static bool counts(const struct hg_taken *taken) {
    return taken->block.site || hg_mode_beneath() != HG_MODE_PAUSED;
}

void hg_sampled_freed(struct hg_thread *thread, void *block, const struct hg_taken *taken) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    if (!counts(taken)) return;
    int64_t live = hg_tally_live(thread->record);
    if (taken->block.site || hg_tally_falls(&thread->tally, live)) hg_tally_fall(thread);
    count_removed(thread, taken->usable);
    if (!taken->block.site) return;
    leave(thread, block, &taken->block, hg_recorder_time(thread), true);
}

void hg_sampled_resized(struct hg_thread *thread, const struct hg_frame *frame, void *from,
                        const struct hg_taken *taken, void *to, size_t size) {
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    bool is_paused = hg_mode_beneath() == HG_MODE_PAUSED;
    if (!counts(taken)) return;
    uint64_t begun = hg_budget_begin(thread);
    bool grows = !is_paused && hg_recorder_usable(thread, to) > taken->usable;
    if (!grows || taken->block.site) hg_tally_fall(thread);
    hg_add_own(&thread->record->frees, 1);
    hg_add_own(&thread->record->usable_freed, taken->usable);
    if (!is_paused) count_added(thread, to, size);
    hg_add_own(&thread->record->reallocs, 1);
    if (taken->block.site) {
        leave(thread, from, &taken->block, hg_recorder_time(thread), false);
    }
    uint32_t shift = is_paused ? HG_SAMPLER_PASS : hg_sampler_take(&thread->sampler, size);
    struct hg_share share;
    if (shift != HG_SAMPLER_PASS &&
        enter(thread, frame, to, size, shift, taken->block.birth, &share)) {
        bool is_in_place = from == to;
        hg_share_note(thread, &share,
                      is_in_place ? HG_OUTCOME_REALLOC_IN_PLACE : HG_OUTCOME_REALLOC_MOVED);
    }
    hg_budget_end(begun);
}

void hg_sampled_kept(struct hg_thread *thread, void *block, const struct hg_taken *taken) {
    struct hg_block replaced;
    hg_thread_become(thread, HG_THREAD_IN_RECORDER);
    if (!taken->block.site) return;
    bool is_sampled = hg_stacks_sample_shift(taken->block.site);
    bool entered = is_sampled ? hg_large_put((uintptr_t)block, taken->block)
                              : hg_ledger_put((uintptr_t)block, taken->block, &replaced);
    if (!entered) hg_threads_lose(thread, HG_LOSS_LEDGER_FULL);
}
