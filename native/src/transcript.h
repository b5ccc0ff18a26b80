/* The thread's last walk, of which a new one re-uses what still stands.
 *
 * The transcript keeps a walk, outermost frame first, with where each of its words was read (see
 * recall.h). From the outside in, the first word that changed says how far the old walk holds; only
 * the frames inside of it are walked anew, until they meet it. Each frame keeps the hash of its path
 * (path_index.h), so the new frames' follow from it.
 *
 * Only for walks on the thread's own stack by plain and realigned rules, complete and within the
 * depth limit. All others are walked in full (walk.h). */
#ifndef HG_TRANSCRIPT_H
#define HG_TRANSCRIPT_H

#include "base.h"
#include "recall.h"
#include "walk.h"

/* ---- transcript -------------------------------------------------------------------------------- */

/* A frame: its caller returns to `pc` with the stack pointer at `sp` and rbp being `bp`; the word
 * below sp holds pc. */
struct hg_met {
    uintptr_t sp, pc;
    uintptr_t bp;   /* matters if `way` has HG_WAY_NEEDS_BP */
    uint32_t way;   /* the rule that leads on to the next outer frame, and HG_WAY_* */
    uint32_t words; /* in a step: so many lead outwards from this frame, and to it */
};

struct hg_step {
    struct hg_met at;
    uint64_t path;  /* the hash of the frames from the outermost one to this */
    uint64_t shape; /* likewise of where the words are that lead there */
};

/* Above the bits of a rule that say how to step. */
#define HG_WAY_TIED (1u << 30)     /* hangs on more words than the return address */
#define HG_WAY_NEEDS_BP (1u << 31) /* it, or a further one outwards, hangs on this frame's rbp */

#define HG_STEP_WORDS 3u /* of a frame, at most */
#define HG_WALK_WORDS (HG_MAX_DEPTH * HG_STEP_WORDS)

struct hg_transcript {
    uint32_t depth; /* frames; 0: nothing is known */
    uint32_t fresh; /* of them, the innermost, new in the last walk */
    /* Outermost first, behind one that stands for what is outside of all. */
    struct hg_step steps[1 + HG_MAX_DEPTH];
    struct hg_met found[HG_MAX_DEPTH]; /* by a walk under way, innermost first */
    /* All words that the walk hangs on, those of outer frames first: where they are, what they are, and how
     * many frames hold if this is the first that changed. */
    uintptr_t places[HG_WALK_WORDS];
    uintptr_t words[HG_WALK_WORDS] __attribute__((aligned(16)));
    uint32_t held[HG_WALK_WORDS];
};

/* Walk the stack at `caller` until it meets what is standing of the last walk. Returns the hash of
 * its path; 0 when it has to be walked in full. `limit` is the depth limit. Signal-safe. */
uint64_t hg_transcript_walk(struct hg_transcript *transcript, struct hg_walker *walker,
                            const struct hg_caller *caller, uint32_t limit);

/* The last walk's site from the call tree, made if it is new; 0 when that has to be walked in full.
 * Uses walker->frames. */
uint32_t hg_transcript_site(const struct hg_transcript *transcript, struct hg_walker *walker,
                            uint64_t now_ns);

/* The shape of the last walk: where all the words are that it hangs on. */
HG_INLINE uint64_t hg_transcript_shape(const struct hg_transcript *transcript) {
    const struct hg_step *innermost = &transcript->steps[transcript->depth];
    return innermost->shape + (innermost->at.way & HG_WAY_NEEDS_BP);
}

/* Remember the transcript's walk, which is that of `site`, unless it has too many words. */
void hg_transcript_teach(const struct hg_transcript *transcript, struct hg_recall *recall,
                         uint32_t site);

/* ---- bedrock ----------------------------------------------------------------------------------- */

/* The outermost frames of a thread's own stack, which stay as they are for as long as what they called does.
 *
 * main is called once, from a place in the C library, and so is a thread's function. While either of them is
 * active, nothing outside of it can change. Whoever recognises that frame by its words needs no look at
 * those beyond: of a stack of eight frames these are three. */

/* How many of the last walk's outermost frames can be taken for granted, if the next one inside, and
 * where it is, is known; 0 where nothing is known of how the stack began, or nothing is inside. */
uint32_t hg_bedrock_frames(const struct hg_transcript *transcript);

#endif
