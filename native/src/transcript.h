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
#include "bounds.h"
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
    uint32_t depth; /* frames; 0: nothing is known */
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

HG_INLINE bool hg_transcript_tie_stands(const struct hg_transcript *t, uint32_t i) {
    const struct hg_tie *tie = &t->ties[i];
    return (!tie->bp_slot || hg_walk_word(tie->bp_slot) == t->ties[i - 1].bp) &&
           (!tie->sp_slot || hg_walk_word(tie->sp_slot) == t->steps[i - 1].sp);
}

/* How many frames, from the outermost in, can be met: all words between them and the outermost
 * frame stand where they were read. Frames below `sp` are gone. */
HG_INLINE uint32_t hg_transcript_standing(const struct hg_transcript *t, uintptr_t sp) {
    uint32_t i = 0;
    for (; i < t->depth; i++) {
        const struct hg_step *step = &t->steps[i];
        if (HG_UNLIKELY(step->sp < sp)) return i;
        if (HG_UNLIKELY(t->has_tie[i]) && !hg_transcript_tie_stands(t, i)) return i;
        if (HG_UNLIKELY(hg_walk_word(step->sp - 8) != step->pc)) return i + 1;
    }
    return i;
}

HG_INLINE bool hg_transcript_is_frame(const struct hg_transcript *t, uint32_t i, uintptr_t pc,
                                      uintptr_t sp, uintptr_t bp) {
    return t->steps[i].sp == sp && t->steps[i].pc == pc && (!t->needs_bp[i] || t->ties[i].bp == bp);
}

/* The site of the stack at `caller` if the last walk still stands as a whole; else 0, and in
 * *standing how much of it does. */
HG_INLINE uint32_t hg_transcript_recall(const struct hg_transcript *t,
                                        const struct hg_walker *walker,
                                        const struct hg_caller *caller, uint32_t *standing) {
    uintptr_t lo = walker->stack_lo, hi = walker->stack_hi, sp = caller->sp;
    if (HG_UNLIKELY(sp - HG_BOUNDS_BELOW - lo >= hi - lo || sp % 8)) return 0;
    uint32_t n = *standing = hg_transcript_standing(t, sp);
    if (HG_UNLIKELY(n != t->depth || !n)) return 0;
    return hg_transcript_is_frame(t, n - 1, caller->pc, sp, caller->bp) ? t->sites[n - 1] : 0;
}

/* The site of the stack at `caller`, walked until it meets what is standing of the last walk; 0
 * when it has to be walked in full. `limit` is the depth limit. Signal-safe; never waits. */
uint32_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t standing, uint32_t limit, uint64_t now_ns);

#endif
