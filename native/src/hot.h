/* What every event looks at, together on one cache line. Each word belongs to the file named beside
 * it, which alone changes it. Words of their own, not members of one: then an instruction can name
 * them, and no register has to hold where they are. */
#ifndef HG_HOT_H
#define HG_HOT_H

#include "base.h"

HG_GLOBAL struct hg_header *g_header; /* recording.c: the recording's; NULL before there is one */
HG_GLOBAL uint64_t g_modules_generation; /* modules.c: another whenever an object is retired */
HG_GLOBAL uint32_t g_peak_mode;          /* peak.c: enum hg_peak_mode */
HG_GLOBAL bool g_peak_may_fall;          /* peak.c: whether frees concern their own thread alone */
HG_GLOBAL bool g_peak_has_saved;    /* peak.c: whether a line may be of the epoch; see tally.c */
HG_GLOBAL uint32_t g_peak_epoch;    /* peak.c: the header's, at hand */
HG_GLOBAL int64_t g_peak_noted;     /* peak.c: live bytes from which a fall is noted */
HG_GLOBAL int64_t g_usable_high;    /* usable.c: bytes in use from which a fall is noted */
HG_GLOBAL uintptr_t g_loader_start; /* modules.c: the dynamic loader's code ... */
HG_GLOBAL uintptr_t g_loader_size;  /* ... in bytes; 0: not known yet */
HG_GLOBAL bool g_is_short_way_open; /* ledger.c: glibc's granule, and no free went unseen */
HG_GLOBAL bool g_is_other_way_open; /* ledger.c: the same, of another allocator */

#endif
