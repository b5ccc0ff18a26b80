/* The thread's walks, verified and re-used.
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
 * A few walks before that are remembered too (hg_memory), each only as a whole: programs go round
 * and round between the same stacks.
 *
 * Only for walks on the thread's own stack by plain and realigned rules, complete and within the
 * depth limit. All others are walked in full (walk.h). */
#ifndef HG_TRANSCRIPT_H
#define HG_TRANSCRIPT_H

#include "base.h"
#include "walk.h"

#define HG_TRANSCRIPT_DEPTH 512u
#define HG_CHILD_BITS 13u
#define HG_CHILD_CACHE (1u << HG_CHILD_BITS)

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

/* A walk that was made before, as the words it read: if the caller is the same and all of them stand
 * where they stood, so does its site. Innermost first: there stacks differ. */
#define HG_MEMORIES 128u
#define HG_MEMORY_WORDS 126u

struct hg_memory {
    uintptr_t pc, sp, bp; /* of the caller; bp matters if `needs_bp` */
    uint32_t site;
    uint16_t count;
    uint16_t needs_bp;
    struct {
        uintptr_t at, word;
    } words[HG_MEMORY_WORDS];
};

HG_INLINE struct hg_memory *hg_memory_of(struct hg_memory *memories, uintptr_t pc, uintptr_t sp) {
    return &memories[(pc ^ pc >> 6 ^ sp >> 4 ^ sp >> 10) % HG_MEMORIES];
}

/* The site of the stack above a hook's frame if this thread remembers it; else 0. Reads only above
 * that frame, on the stack that the remembered walk was on: it started at the same place. */
HG_INLINE uint32_t hg_memory_recall(struct hg_memory *memories, const struct hg_frame *frame) {
    const struct hg_memory *m = hg_memory_of(memories, frame->pc, hg_frame_sp(frame));
    if (m->pc != frame->pc || m->sp != hg_frame_sp(frame)) return 0;
    if (m->needs_bp && m->bp != frame->bp) return 0;
    for (uint32_t i = 0; i < m->count; i++) {
        if (hg_walk_word(m->words[i].at) != m->words[i].word) return 0;
    }
    return m->site;
}

/* Whether remembering pays for this thread: where most stacks are new, few are remembered. */
struct hg_habit {
    uint32_t walks;       /* in this window */
    uint32_t every;       /* only each so many'th walk is remembered; 0 is 1 */
    uint64_t allocations; /* of the thread when the window began */
};

#define HG_HABIT_WINDOW 256u

/* A stack was walked; true when it is to be remembered. */
HG_INLINE bool hg_habit_says_keep(struct hg_habit *habit, uint64_t allocations) {
    if (++habit->walks % (habit->every ? habit->every : 1)) return false;
    if (habit->walks < HG_HABIT_WINDOW) return true;
    bool is_hopeless = habit->walks > (allocations - habit->allocations) / 4 * 3;
    *habit = (struct hg_habit){0, is_hopeless ? 8 : 1, allocations};
    return true;
}

/* Remember the transcript's walk, which is that of `site`, unless it has too many words. */
void hg_memory_keep(struct hg_memory *memories, const struct hg_transcript *transcript,
                    uint32_t site);

/* The site of the stack at `caller`, walked until it meets what is standing of the last walk; 0
 * when it has to be walked in full. `limit` is the depth limit. Signal-safe; never waits. */
uint32_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t limit, uint64_t now_ns);

#endif
