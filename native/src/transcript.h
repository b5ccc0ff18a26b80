/* The thread's last walk, of which a new one re-uses what still stands.
 *
 * The transcript keeps a walk, outermost frame first, with where each of its words was read (see
 * recall.h). From the outside in, the first word that changed says how far the old walk holds; only
 * the frames inside of it are walked anew, until they meet it. Each frame keeps its node in the call
 * tree, so a stack that shares its outer frames with the last one, as nearly all do, costs one
 * lookup per new frame.
 *
 * Only for walks on the thread's own stack by plain and realigned rules, complete and within the
 * depth limit. All others are walked in full (walk.h). */
#ifndef HG_TRANSCRIPT_H
#define HG_TRANSCRIPT_H

#include "base.h"
#include "recall.h"
#include "walk.h"

#define HG_TRANSCRIPT_DEPTH 512u
#define HG_CHILD_BITS 13u
#define HG_CHILD_CACHE (1u << HG_CHILD_BITS)

/* A frame: its caller returns to `pc` with the stack pointer at `sp` and rbp being `bp`; the word
 * below sp holds pc. */
struct hg_step {
    uintptr_t sp, pc;
    uintptr_t bp;  /* matters if `way` has HG_WAY_NEEDS_BP */
    uint32_t way;  /* the rule that leads on to the next outer frame, and HG_WAY_* */
    uint32_t node; /* of the call tree */
};

/* Above the bits of a rule that say how to step. */
#define HG_WAY_TIED (1u << 30)     /* hangs on more words than the return address */
#define HG_WAY_NEEDS_BP (1u << 31) /* it, or a further one outwards, hangs on this frame's rbp */

struct hg_transcript {
    uint32_t depth;                            /* frames; 0: nothing is known */
    struct hg_step steps[HG_TRANSCRIPT_DEPTH]; /* outermost first */
};

/* The call tree's nodes that this thread came by. */
struct hg_child_entry {
    uint64_t address;
    uint32_t parent;
    uint32_t node;
};

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

/* The site of the stack at `caller`, walked until it meets what is standing of the last walk; 0
 * when it has to be walked in full. `limit` is the depth limit. Signal-safe; never waits. */
uint32_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_child_entry *children,
                            struct hg_walker *walker, const struct hg_caller *caller,
                            uint32_t limit, uint64_t now_ns);

/* Remember the transcript's walk, which is that of `site`, unless it has too many words. */
void hg_transcript_teach(const struct hg_transcript *transcript, struct hg_recall *recall,
                         uint32_t site);

#endif
