/* Sites' counters summed over all threads' shards: what every output but the recording starts from.
 * Sites of annotated blocks have none here: those lie inside of others, and would count twice.
 * May be asked at any time, by any thread; a block that is counted meanwhile may be in one number
 * and not yet in another. */
#ifndef HG_SITE_SUMS_H
#define HG_SITE_SUMS_H

#include "base.h"

struct hg_site_sums {
    uint64_t allocations, frees; /* blocks, in 1/HG_BLOCK_FRACTION */
    uint64_t bytes_allocated, bytes_freed;
};

/* Sites are numbered from 1 to this, which is no site. One that was handed out just now may have no
 * frames yet: see hg_stacks_innermost(). */
uint32_t hg_site_sums_end(void);

/* Of a sampled site: estimates. Its blocks are rounded after they were added to others: see
 * hg_site_sums_whole_blocks(). */
struct hg_site_sums hg_site_sums_of(uint32_t site);
/* Blocks as they stand in the recording: whole ones where all are recorded. */
struct hg_site_sums hg_site_sums_unscaled(uint32_t site);

/* Never below zero, though a block may be seen freed and not yet allocated. */
HG_INLINE uint64_t hg_site_sums_live_bytes(const struct hg_site_sums *sums) {
    return sums->bytes_allocated > sums->bytes_freed ? sums->bytes_allocated - sums->bytes_freed
                                                     : 0;
}
HG_INLINE uint64_t hg_site_sums_live_blocks(const struct hg_site_sums *sums) {
    return sums->allocations > sums->frees ? sums->allocations - sums->frees : 0;
}

HG_INLINE uint64_t hg_site_sums_whole_blocks(uint64_t fractions) {
    return (fractions + HG_BLOCK_FRACTION / 2) / HG_BLOCK_FRACTION;
}

#endif
