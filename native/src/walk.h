/* The stack walk: from the caller of a hook outwards to the thread's first frame.
 *
 * Without frame pointers, libgcc or libunwind: rules from .eh_frame (rules.h) say for each return
 * address where the caller's frame is. Never reads outside readable stack memory, never locks,
 * never allocates, bounded by the depth limit; callable from a signal handler. */
#ifndef HG_WALK_H
#define HG_WALK_H

#include "base.h"
#include "rules.h"

/* ---- walk -------------------------------------------------------------------------------------- */

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

/* ---- bounds ------------------------------------------------------------------------------------ */

/* Which memory a walk may read.
 *
 * Owns the search for the ends of a thread's own stack, without asking the C library (it allocates)
 * or /proc (it needs a descriptor): the upper end is known from the thread pointer or from the
 * kernel's start-up vector, and pages are probed. The thread's own stack stays for its lifetime, so
 * what was found is kept in the walker. Any other stack (coroutine, sigaltstack) may be unmapped
 * tomorrow: it is probed page by page in every walk and nothing about it is kept. */

struct hg_bounds {
    uintptr_t hi;    /* all from the stack pointer up to here can be read */
    uint32_t probes; /* pages probed in this walk on stacks that are not the thread's own */
    bool native;     /* the thread's own stack: hi is its end */
};

/* Bytes below a stack pointer that must be readable too: the red zone and a little more. */
#define HG_BOUNDS_BELOW 64u

/* Facts about the process; called by hg_walk_start. */
void hg_bounds_start(void);

/* The stack that `sp` is on. False: that memory cannot be read. */
bool hg_bounds_enter(struct hg_bounds *bounds, struct hg_walker *walker, uintptr_t sp);

/* Make sure everything from the stack pointer up to `address` can be read. */
bool hg_bounds_reach(struct hg_bounds *bounds, uintptr_t address);

/* ---- walk state -------------------------------------------------------------------------------- */

/* A walk under way, and the steps that the fast and the slow walk share. */

struct hg_walk_state {
    uintptr_t pc, sp, bp; /* of the frame reached; pc is a return address, or an exact pc + 1 */
    struct hg_bounds bounds;
    struct hg_walker *walker;
    const struct hg_caller *caller;
    uint32_t limit;
    uint32_t switches; /* to another stack, or over a signal frame */
};

/* End the walk; false, for the caller to return. */
HG_INLINE bool hg_walk_end(struct hg_walk_state *state, uint32_t end) {
    state->walker->end = end;
    return false;
}

/* Whether an address can be code at all. */
HG_INLINE bool hg_walk_plausible(uintptr_t pc) {
    return pc >= HG_PSEUDO_END && !(pc >> HG_ADDRESS_BITS);
}

/* Go on to the frame with this return address. False: the walk has ended. */
bool hg_walk_push(struct hg_walk_state *state, uintptr_t pc);

/* Make `cfa` the stack pointer's next value. With `may_switch` it may lie on another stack, which
 * some programs leave for a larger one and come back to. False: the walk has ended. */
bool hg_walk_settle(struct hg_walk_state *state, uintptr_t cfa, bool may_switch);

/* Step over the kernel's signal frame, or over code without unwind information by its frame
 * pointer: sets pc, sp and bp. False: the walk has ended. */
bool hg_walk_over_signal(struct hg_walk_state *state);
bool hg_walk_by_frame_pointer(struct hg_walk_state *state);

/* Walk again from the start, every register tracked. */
void hg_walk_slow(struct hg_walk_state *state);

#endif
