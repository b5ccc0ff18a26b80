/* Reading a word at an address that may be anything. */
#ifndef HG_PROBE_H
#define HG_PROBE_H

#include "sys.h"

/* The 8 bytes at `at`, if they can be read. The kernel's word counts, not a sanitizer's: what
 * unwind information points to need not be an object of ours. */
static __attribute__((noinline, no_sanitize_address, unused)) bool hg_probe_word(uintptr_t at,
                                                                                 uintptr_t *value) {
    struct unaligned {
        uintptr_t word;
    } __attribute__((packed, may_alias));
    if (!hg_sys_readable(at)) return false;
    *value = ((const struct unaligned *)at)->word;
    return true;
}

#endif
