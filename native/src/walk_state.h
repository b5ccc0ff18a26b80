/* A walk under way, and the steps that the fast and the slow walk share. */
#ifndef HG_WALK_STATE_H
#define HG_WALK_STATE_H

#include "bounds.h"
#include "walk.h"

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
