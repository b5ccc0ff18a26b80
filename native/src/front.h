/* What hooks look at first, on one cache line: the mode and, while a process that has had a single thread is
 * sampled, all that its events look at beside their totals. A program's own work pushes out of the caches what
 * it can, and each line more is one more to wait for.
 *
 * It lies in a page that a forked child finds zeroed, so in the middle of a hook, by a handler that forks, all
 * of it may become zero: a countdown that ends, a total that falls, and nobody's thread pointer. */
#ifndef HG_FRONT_H
#define HG_FRONT_H

#include "base.h"
#include "sampler.h"
#include "sys_x86_64.h"

/* ---- hot --------------------------------------------------------------------------------------- */

/* What every event looks at, together on one cache line. Each word belongs to the file named beside
 * it, which alone changes it. Words of their own, not members of one: then an instruction can name
 * them, and no register has to hold where they are. */

HG_GLOBAL struct hg_header *g_header; /* recording.c: the recording's; NULL before there is one */
HG_GLOBAL uint64_t g_modules_generation; /* modules.c: another whenever an object is retired */
HG_GLOBAL uint32_t g_peak_mode;          /* peak.c: enum hg_peak_mode */
HG_GLOBAL bool g_peak_may_fall;          /* peak.c: whether frees concern their own thread alone */
HG_GLOBAL bool g_peak_has_saved;    /* peak.c: whether a line may be of the epoch; see tally.c */
HG_GLOBAL uint32_t g_peak_epoch;    /* peak.c: the header's, at hand */
HG_GLOBAL int64_t g_peak_noted;     /* peak.c: live bytes from which a fall is noted */
HG_GLOBAL int64_t g_usable_high;    /* peak.c: bytes in use from which a fall is noted */
HG_GLOBAL uintptr_t g_loader_start; /* modules.c: the dynamic loader's code ... */
HG_GLOBAL uintptr_t g_loader_size;  /* ... in bytes; 0: not known yet */
HG_GLOBAL bool g_is_short_way_open; /* ledger.c: glibc's granule, and no free went unseen */
HG_GLOBAL bool g_is_other_way_open; /* ledger.c: the same, of another allocator */

/* ---- front ------------------------------------------------------------------------------------- */

struct hg_front {
    uint32_t mode;     /* mode.c: what every hook looks at first */
    uint16_t beneath;  /* mode.c: what the mode is but for watchers: how events are recorded */
    uint16_t watchers; /* mode.c: enum hg_watcher, a set */

    /* thread.c: of the only thread, if it is the main one, whose thread pointer nobody else ever has */
    uintptr_t pointer; /* 0: there is none */
    struct hg_thread_record *record;
    int64_t falling; /* tally.c: as in hg_tally */
    uint64_t asked;  /* likewise */
    struct hg_sampler sampler;
} __attribute__((aligned(HG_PAGE)));
_Static_assert(offsetof(struct hg_front, sampler.left) < 64, "what is looked at is one cache line");
HG_GLOBAL struct hg_front g_front;

/* Whether the calling thread is the one that the front is of. What was read of it before this is true then. */
HG_INLINE bool hg_front_is_mine(void) {
    hg_in_order();
    return HG_LIKELY(hg_glance(&g_front.pointer) == hg_thread_pointer());
}

/* Whether the block that its thread asks for ended the countdown. */
HG_INLINE bool hg_front_is_due(void) {
    return hg_load(&g_front.sampler.left) < 0 && hg_front_is_mine();
}

#endif
