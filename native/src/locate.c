#include "locate.h"

#include "options.h"
#include "stacks.h"

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
    hg_recall_clear(&thread->recall);
    __builtin_memset(thread->children, 0, sizeof thread->children);
    thread->transcript.depth = 0;
    thread->generation = hg_load_acquire(&g_modules_generation);
}

static HG_NOINLINE uint32_t new_stack(struct hg_thread *thread, struct hg_stack_entry *entry,
                                      uint64_t hash, uint64_t now_ns) {
    const struct hg_walker *w = &thread->walker;
    uint32_t site = hg_stacks_site(w->frames, w->depth, w->end, now_ns);
    hg_add_own(&thread->record->stats[HG_STAT_STACK_MISSES], 1);
    /* Not remembered when the table is full: each event of such a stack is a loss of its own. */
    if (site == HG_SITE_OTHER) hg_threads_lose(thread, HG_LOSS_SITES_FULL);
    else *entry = (struct hg_stack_entry){hash, site};
    return site;
}

static HG_NOINLINE uint32_t walk_in_full(struct hg_thread *thread, const struct hg_caller *caller,
                                         uint64_t now_ns) {
    hg_walk(&thread->walker, caller, g_options.depth);
    uint32_t end = thread->walker.end;
    if (HG_UNLIKELY(end)) hg_threads_lose(thread, HG_LOSS_STACK_DEPTH + end - HG_PSEUDO_DEPTH);
    uint64_t hash = hash_stack(&thread->walker);
    struct hg_stack_entry *entry = hg_recall_stack(&thread->recall, hash);
    if (HG_LIKELY(entry->hash == hash)) return entry->site;
    return new_stack(thread, entry, hash, now_ns);
}

/* The stack is not one that the thread remembers. */
static HG_NOINLINE uint32_t walk(struct hg_thread *thread, const struct hg_caller *caller,
                                 uint64_t now_ns) {
    uint32_t site = hg_transcript_walk(&thread->transcript, thread->children, &thread->walker,
                                       caller, g_options.depth, now_ns);
    hg_add_own(&thread->record->stats[HG_STAT_WALKS], 1);
    if (HG_UNLIKELY(site == HG_SITE_OTHER)) hg_threads_lose(thread, HG_LOSS_SITES_FULL);
    else if (site && hg_habit_says_keep(&thread->habit, thread->record->allocations))
        hg_transcript_teach(&thread->transcript, &thread->recall, site);
    return HG_LIKELY(site) ? site : walk_in_full(thread, caller, now_ns);
}

static uint32_t locate(struct hg_thread *thread, const struct hg_frame *frame, uint64_t now_ns) {
    uintptr_t sp = hg_frame_sp(frame);
    if (HG_UNLIKELY(thread->generation != hg_load(&g_modules_generation))) forget_stacks(thread);
    struct hg_memory *m = hg_recall_memory(&thread->recall, frame->pc, sp);
    if (HG_LIKELY(hg_memory_is_of(m, frame))) {
        if (hg_memory_stands(m, sp)) return m->site;
        uint32_t site = hg_recall_other(&thread->recall, m, frame);
        if (HG_LIKELY(site)) return site;
    }
    struct hg_caller caller = hg_frame_caller(frame);
    return walk(thread, &caller, now_ns);
}

#ifdef HG_CHECK_WALKS
void hg_locate_check(struct hg_thread *thread, const struct hg_frame *frame, uint32_t known,
                     uint64_t now_ns) {
    struct hg_caller caller = hg_frame_caller(frame);
    hg_add_own(&thread->record->stats[HG_STAT_CHECKED], 1);
    struct hg_walker *w = &thread->walker;
    hg_walk(w, &caller, g_options.depth);
    uint32_t site = hg_stacks_site(w->frames, w->depth, w->end, now_ns);
    if (site != known) hg_add_own(&thread->record->stats[HG_STAT_MISMATCHES], 1);
}
#endif

uint32_t hg_locate_site(struct hg_thread *thread, const struct hg_frame *frame, uint64_t now_ns) {
    uint32_t site = locate(thread, frame, now_ns);
#ifdef HG_CHECK_WALKS
    hg_locate_check(thread, frame, site, now_ns);
#endif
    return site;
}

void hg_locate_keep_line(struct hg_thread *thread, const struct hg_frame *frame, uint32_t site,
                         struct hg_counters *line) {
    struct hg_memory *m = hg_recall_memory(&thread->recall, frame->pc, hg_frame_sp(frame));
    if (!hg_memory_is_of(m, frame) || m->site != site) return;
    m->line = line;
    if (!line) m->pc = 0;
}
