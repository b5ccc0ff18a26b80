/* Stands in for the unwinder: every walk finds the stack that the test has put here. As it never
 * says where the thread's stack lies, no walk is ever taken from a transcript. */
#ifndef HG_SCRIPTED_WALK_H
#define HG_SCRIPTED_WALK_H

#include "walk.h"

struct scripted_stack {
    uintptr_t frames[HG_MAX_DEPTH];
    uint32_t depth;
    uint32_t end;
};

extern __thread struct scripted_stack tls_next_stack;
extern uint32_t g_unload_checks; /* calls of hg_modules_check_unloaded() */

/* The next walks of this thread find a stack of one frame; what a hook called from there finds at
 * its frame address. */
struct hg_frame script_frame(uintptr_t pc);

#endif
