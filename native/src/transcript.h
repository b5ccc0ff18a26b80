/* The thread's last walk, verified and re-used.
 *
 * A walk is a pure function of the words it reads from the stack: return addresses, and saved frame
 * pointers where a frame's place hangs on one. The transcript keeps the last walk, outermost frame
 * first, with where each word was read. If the words still stand there, so does the walk, and no
 * rule is looked up. From the outside in, the first word that changed says how far the old walk
 * holds; only the frames inside of it are walked anew, until they meet it.
 *
 * Each frame keeps its node in the call tree, so a stack that shares its outer frames with the last
 * one, as nearly all do, costs one lookup per new frame.
 *
 * Only for walks on the thread's own stack by plain and realigned rules, complete and within the
 * depth limit. All others are walked in full (walk.h). */
#ifndef HG_TRANSCRIPT_H
#define HG_TRANSCRIPT_H

#include "base.h"
#include "walk.h"

#define HG_TRANSCRIPT_DEPTH 512u
#define HG_CHILD_CACHE 4096u

/* A frame: its caller returns to `pc` with the stack pointer at `sp`; the word below holds pc. */
struct hg_step {
    uintptr_t sp, pc;
};

/* What else the way from a frame to the next outer one hangs on. */
struct hg_tie {
    uintptr_t bp;      /* rbp in this frame; matters if `needs_bp` */
    uintptr_t bp_slot; /* where the outer frame's rbp was read; 0: it does not matter */
    uintptr_t sp_slot; /* where the outer frame's sp was read (realigned); 0: it was computed */
};

struct hg_transcript {
    uint32_t depth;                            /* frames; 0: nothing is known */
    uint32_t tied;                             /* frames with a slot in their tie */
    struct hg_step steps[HG_TRANSCRIPT_DEPTH]; /* outermost first */
    struct hg_tie ties[HG_TRANSCRIPT_DEPTH];
    uint32_t nodes[HG_TRANSCRIPT_DEPTH];
    uint32_t sites[HG_TRANSCRIPT_DEPTH]; /* of stacks that end at this frame; 0: not asked yet */
    uint8_t needs_bp[HG_TRANSCRIPT_DEPTH];
    uint8_t has_tie[HG_TRANSCRIPT_DEPTH];
};

/* The call tree's nodes that this thread came by. */
struct hg_child_entry {
    uint64_t address;
    uint32_t parent;
    uint32_t node;
};

HG_INLINE bool hg_transcript_is_frame(const struct hg_transcript *t, uint32_t i, uintptr_t pc,
                                      uintptr_t sp, uintptr_t bp) {
    return t->steps[i].sp == sp && t->steps[i].pc == pc && (!t->needs_bp[i] || t->ties[i].bp == bp);
}

/* Whether all saved frame pointers that matter stand where they were read. */
bool hg_transcript_ties_stand(const struct hg_transcript *transcript);

/* The site of the stack above a hook's frame if the last walk still stands as a whole; else 0. Reads
 * only above that frame, on the stack that the last walk was on: its top is the hook's caller. */
HG_INLINE uint32_t hg_transcript_recall(const struct hg_transcript *t,
                                        const struct hg_frame *frame) {
    uint32_t top = t->depth - 1;
    if (HG_UNLIKELY(!t->depth)) return 0;
    if (!hg_transcript_is_frame(t, top, frame->pc, hg_frame_sp(frame), frame->bp)) return 0;
    for (const struct hg_step *step = t->steps, *end = step + top; step < end; step++) {
        if (HG_UNLIKELY(hg_walk_word(step->sp - 8) != step->pc)) return 0;
    }
    if (HG_UNLIKELY(t->tied) && !hg_transcript_ties_stand(t)) return 0;
    return t->sites[top];
}

/* The site of the stack at `caller`, walked until it meets what is standing of the last walk; 0
 * when it has to be walked in full. `limit` is the depth limit. Signal-safe; never waits. */
uint32_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t limit, uint64_t now_ns);

#endif
