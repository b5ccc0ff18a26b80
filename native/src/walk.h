/* The stack walk: from the caller of a hook outwards to the thread's first frame.
 *
 * Without frame pointers, libgcc or libunwind: rules from .eh_frame (rules.h) say for each return
 * address where the caller's frame is. Never reads outside readable stack memory, never locks,
 * never allocates, bounded by the depth limit; callable from a signal handler. */
#ifndef HG_WALK_H
#define HG_WALK_H

#include "base.h"
#include "rules.h"

/* Stack memory holds any type. */
typedef uintptr_t __attribute__((may_alias)) hg_word;
HG_INLINE uintptr_t hg_walk_word(uintptr_t at) { return *(const hg_word *)at; }

/* Where a hook was called from: its return address, and the caller's stack and frame pointers as
 * they will be when the hook returns. */
struct hg_caller {
    uintptr_t pc, sp, bp;
};

/* What lies at a hook's frame address: its caller's frame pointer and the return address. */
struct hg_frame {
    uintptr_t bp, pc;
};

/* The caller's stack pointer when the hook returns. */
HG_INLINE uintptr_t hg_frame_sp(const struct hg_frame *frame) { return (uintptr_t)(frame + 1); }

HG_INLINE struct hg_caller hg_frame_caller(const struct hg_frame *frame) {
    return (struct hg_caller){frame->pc, hg_frame_sp(frame), frame->bp};
}

/* The frame of the hook that was called from there. */
HG_INLINE const struct hg_frame *hg_caller_frame(const struct hg_caller *caller) {
    return (const struct hg_frame *)caller->sp - 1;
}

/* One thread's walker; zero-initialised is ready. */
struct hg_walker {
    uintptr_t stack_lo, stack_hi;  /* the part of the thread's own stack known to be readable; 0, 0:
                                      not looked for yet */
    uintptr_t stack_hole;          /* a page below it that could not be read; 0: none met */
    uint32_t end;                  /* of the last walk: 0 complete, else enum hg_pseudo */
    uint32_t depth;                /* of the last walk: frames found */
    uint64_t stats[HG_STAT_SLOTS]; /* FRAMES, FOREIGN_WALKS, SLOW_WALKS */
    struct hg_parser parser;
    uintptr_t frames[HG_MAX_DEPTH]; /* of the last walk: return addresses, innermost first; of code
                                       that a signal interrupted, the next byte's address, so that
                                       one less is in the right instruction for every frame */
};

/* Fresh rules; called when a recording starts, also in a forked child. False: no memory. */
bool hg_walk_start(void);

/* Walk from `caller` at most `limit` frames; frames[0] is caller->pc. Fills frames, depth, end. The
 * hook must still be on the caller's stack. Every frame's object is in MODULES afterwards, except
 * that of the last one where end is HG_PSEUDO_NO_RULE. */
void hg_walk(struct hg_walker *walker, const struct hg_caller *caller, uint32_t limit);

#endif
