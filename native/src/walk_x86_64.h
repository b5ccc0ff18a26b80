/* What the walk knows about x86-64 code. */
#ifndef HG_WALK_X86_64_H
#define HG_WALK_X86_64_H

#include "modules.h"
#include "registers_x86_64.h"
#include "sys.h"

/* Whether the bytes before `pc` end in a call: E8 with a 32-bit distance, or FF /2 with any operand.
 * Only code of known objects is looked at. */
static inline bool hg_walk_follows_call(uintptr_t pc, uintptr_t caller) {
    if (!hg_modules_find_for(pc - 1, caller) || !hg_sys_readable(pc - 8)) return false;
    const uint8_t *after = (const uint8_t *)pc;
    if (after[-5] == 0xe8) return true;
    for (int length = 2; length <= 7; length++) {
        if (after[-length] == 0xff && (after[1 - length] >> 3 & 7) == 2) return true;
    }
    return false;
}

#endif
