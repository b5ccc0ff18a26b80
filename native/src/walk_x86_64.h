/* What the walk knows about x86-64 code. */
#ifndef HG_WALK_X86_64_H
#define HG_WALK_X86_64_H

#include "modules.h"
#include "probe.h"
#include "registers_x86_64.h"

/* Whether the bytes before `pc` end in a call: E8 with a 32-bit distance, or FF /2 with any
 * operand. Only code of known objects is looked at. */
static inline bool hg_walk_follows_call(uintptr_t pc, uintptr_t caller) {
    uintptr_t before; /* the eight bytes before pc, the last one in the highest bits */
    if (!hg_modules_find_for(pc - 1, caller) || !hg_probe_word(pc - 8, &before)) return false;
    if ((before >> 24 & 0xff) == 0xe8) return true;
    for (uint32_t length = 2; length <= 7; length++) {
        uintptr_t call = before >> (64 - 8 * length);
        if ((call & 0x38ff) == 0x10ff) return true;
    }
    return false;
}

#endif
