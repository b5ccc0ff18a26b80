#include "locate.h"

#include "options.h"
#include "stacks.h"

static HG_NOINLINE void forget_stacks(struct hg_thread *thread) {
    hg_recall_clear(&thread->recall, hg_load_acquire(&g_modules_generation));
    thread->transcript.depth = 0;
}

static uint32_t make_walked(struct hg_thread *thread, uint64_t now_ns) {
    const struct hg_walker *w = &thread->walker;
    return hg_stacks_site(w->frames, w->depth, w->end, now_ns);
}

static uint32_t make_transcribed(struct hg_thread *thread, uint64_t now_ns) {
    return hg_transcript_site(&thread->transcript, &thread->walker, now_ns);
}

/* The site of a stack that the thread has not seen before, of this path: from the index, or a new
 * one, made of the walk. */
static HG_NOINLINE uint32_t first_seen(struct hg_thread *thread, uint64_t path,
                                       uint32_t (*make)(struct hg_thread *, uint64_t),
                                       uint64_t now_ns) {
    uint32_t site = hg_path_find(path).site;
    if (site) hg_recall_miss(&thread->recall, hg_load(&thread->record->allocations));
    else site = make(thread, now_ns);
    hg_threads_note(thread, HG_STAT_STACK_MISSES, 1);
    /* Not remembered when the table is full: each event of such a stack is a loss of its own. */
    if (site > HG_SITE_OTHER) hg_recall_keep(&thread->recall, path, site);
    if (site == HG_SITE_OTHER) hg_threads_lose(thread, HG_LOSS_SITES_FULL);
    return site;
}

static HG_NOINLINE uint32_t walk_in_full(struct hg_thread *thread, const struct hg_caller *caller,
                                         uint64_t now_ns) {
    struct hg_walker *w = &thread->walker;
    hg_walk(w, caller, g_options.depth);
    hg_threads_note(thread, HG_STAT_FULL_WALKS, 1);
    if (HG_UNLIKELY(w->end))
        hg_threads_lose(thread, HG_LOSS_STACK_DEPTH + w->end - HG_PSEUDO_DEPTH);
    uint64_t path = hg_stacks_path(w->frames, w->depth, w->end);
    uint32_t site = hg_recall_site(&thread->recall, path);
    return HG_LIKELY(site) ? site : first_seen(thread, path, make_walked, now_ns);
}

/* A stack that is walked for the second time is remembered: many a one comes only once. If it differs
 * from what is remembered in its place in its words only, their hash suffices. */
static void learn(struct hg_thread *thread, const struct hg_memory *m, const struct hg_frame *frame,
                  uint64_t words, uint32_t site) {
    const struct hg_transcript *transcript = &thread->transcript;
    struct hg_recall *recall = &thread->recall;
    bool is_of = hg_memory_is_of(m, frame, recall->generation) &&
                 hg_recall_head(recall, m)->shape == hg_transcript_shape(transcript);
    if (is_of) hg_recall_keep(recall, words ? words : hg_recall_mix(recall, m, frame), site);
    else if (hg_recall_admit(recall, m)) hg_transcript_teach(transcript, recall, site);
}

/* The stack is not one that the thread remembers. `m` is the memory of its place; `words` the hash of its
 * words by that, 0 if they were not looked for. */
static HG_NOINLINE uint32_t walk(struct hg_thread *thread, const struct hg_frame *frame,
                                 const struct hg_memory *m, uint64_t words, uint64_t now_ns) {
    struct hg_transcript *transcript = &thread->transcript;
    struct hg_caller caller = hg_frame_caller(frame);
    uint64_t path = hg_transcript_walk(transcript, &thread->walker, &caller, g_options.depth);
    hg_threads_note(thread, HG_STAT_WALKS, 1);
    if (HG_UNLIKELY(!path)) return walk_in_full(thread, &caller, now_ns);
    hg_threads_note(thread, HG_STAT_REUSED_FRAMES, transcript->depth - transcript->fresh);
    uint32_t site = hg_recall_site(&thread->recall, path);
    if (HG_LIKELY(site)) learn(thread, m, frame, words, site);
    else site = first_seen(thread, path, make_transcribed, now_ns);
    return HG_LIKELY(site) ? site : walk_in_full(thread, &caller, now_ns);
}

static uint32_t locate(struct hg_thread *thread, const struct hg_frame *frame, uint64_t now_ns) {
    struct hg_recall *recall = &thread->recall;
    if (HG_UNLIKELY(recall->generation != hg_load(&g_modules_generation))) forget_stacks(thread);
    struct hg_memory *m = hg_recall_memory(recall, frame);
    uint64_t words = 0;
    if (HG_LIKELY(hg_memory_is_of(m, frame, recall->generation))) {
        uint32_t own = m->site, site = hg_recall_by_words(recall, m, frame, &words);
        hg_threads_note(thread, HG_STAT_OTHER_WORDS, site != 0 && site != own);
        if (HG_LIKELY(site)) return site;
    }
    return walk(thread, frame, m, words, now_ns);
}

#ifdef HG_CHECK_WALKS
void hg_locate_check(struct hg_thread *thread, const struct hg_frame *frame, uint32_t known,
                     uint64_t now_ns) {
    struct hg_caller caller = hg_frame_caller(frame);
    hg_threads_note(thread, HG_STAT_CHECKED, 1);
    struct hg_walker *w = &thread->walker;
    hg_walk(w, &caller, g_options.depth);
    uint32_t site = hg_stacks_site(w->frames, w->depth, w->end, now_ns);
    /* Two threads may have given one stack two sites. Where code was unloaded, the same frames may be
     * another stack. */
    bool may_be_two = !hg_load(&g_modules_generation);
    bool agrees = site == known || (may_be_two && hg_stacks_are_same(site, known));
    if (!agrees) hg_threads_note(thread, HG_STAT_MISMATCHES, 1);
}
#endif

uint32_t hg_locate_site(struct hg_thread *thread, const struct hg_frame *frame, uint64_t now_ns) {
    uint32_t site = locate(thread, frame, now_ns);
#ifdef HG_CHECK_WALKS
    hg_locate_check(thread, frame, site, now_ns);
#endif
    return site;
}
