/* Which memory a walk may read.
 *
 * Owns the search for the ends of a thread's own stack, without asking the C library (it allocates)
 * or /proc (it needs a descriptor): the upper end is known from the thread pointer or from the
 * kernel's start-up vector, and pages are probed. The thread's own stack stays for its lifetime, so
 * what was found is kept in the walker. Any other stack (coroutine, sigaltstack) may be unmapped
 * tomorrow: it is probed page by page in every walk and nothing about it is kept. */
#ifndef HG_BOUNDS_H
#define HG_BOUNDS_H

#include "walk.h"

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

#endif
