/* From a hook's frame to the site of its stack: recalled if it can be, spliced with the last walk if
 * not, walked in full if it must be. */
#ifndef HG_LOCATE_H
#define HG_LOCATE_H

#include "modules.h"
#include "thread.h"

/* The site of the stack above a hook's frame. Losses are counted here. */
uint32_t hg_locate_site(struct hg_thread *thread, const struct hg_frame *frame, uint64_t now_ns);

#ifdef HG_CHECK_WALKS
/* Test builds: count whether a full walk of the stack agrees with `known`. */
void hg_locate_check(struct hg_thread *thread, const struct hg_frame *frame, uint32_t known,
                     uint64_t now_ns);
#endif

/* A site and this thread's line of it. */
struct hg_place {
    struct hg_counters *line;
    uint32_t site;
};

/* The place of the stack above a hook's frame, if it is remembered and all of it still stands. */
HG_INLINE bool hg_locate_quickly(struct hg_thread *thread, const struct hg_frame *frame,
                                 struct hg_place *place) {
    const struct hg_memory *m = hg_recall_memory(&thread->recall, frame);
    /* One register for it, not a new computation at every use. */
    __asm__("" : "+r"(m));
    *place = (struct hg_place){hg_glance(&m->line), hg_glance(&m->site)};
    /* A signal handler that learns another stack in its place changes the frame, too. */
    hg_in_order();
    return HG_LIKELY(hg_memory_is_of(m, frame, hg_glance(&g_modules_generation))) &&
           hg_memory_stands(m, frame);
}

/* The site of the stack, for an event that has not tried the short way. */
HG_INLINE uint32_t hg_locate_first(struct hg_thread *thread, const struct hg_frame *frame,
                                   uint64_t now_ns) {
    struct hg_place place;
    if (HG_UNLIKELY(!hg_locate_quickly(thread, frame, &place)))
        return hg_locate_site(thread, frame, now_ns);
#ifdef HG_CHECK_WALKS
    hg_locate_check(thread, frame, place.site, now_ns);
#endif
    return place.site;
}

#endif
