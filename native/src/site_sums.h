/* Sites' counters summed over all threads' shards: what every output but the recording starts from.
 * Sites of annotated blocks have none here: those lie inside of others, and would count twice.
 * May be asked at any time, by any thread; a block that is counted meanwhile may be in one number
 * and not yet in another. */
#ifndef HG_SITE_SUMS_H
#define HG_SITE_SUMS_H

#include "base.h"
#include "text.h"

/* ---- site sums --------------------------------------------------------------------------------- */

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

/* ---- estimate ---------------------------------------------------------------------------------- */

/* How far off estimates may be, for outputs that the library writes itself: standard errors, with
 * integers alone. docs/sampling.md derives them. */

/* Of a number of blocks, in 1/65536, and of bytes. Nothing where all blocks are recorded. */
struct hg_variance {
    unsigned __int128 blocks, bytes;
};

void hg_estimate_add(struct hg_variance *sum, const struct hg_variance *more);

/* What one live block of this size, sampled at the interval 1 << shift, adds. */
struct hg_variance hg_estimate_of_block(uint64_t size, uint32_t shift);
/* Of what a site holds now. */
struct hg_variance hg_estimate_of_site(uint32_t site);

/* The standard errors, rounded. */
uint64_t hg_estimate_blocks_error(const struct hg_variance *variance);
uint64_t hg_estimate_bytes_error(const struct hg_variance *variance);

/* "sampled once in N bytes", or "in part, once in N to M bytes", for a recording that has samples. */
void hg_estimate_print_interval(struct hg_printer *out);

#endif
