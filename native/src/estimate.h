/* How far off estimates may be, for outputs that the library writes itself: standard errors, with
 * integers alone. docs/sampling.md derives them. */
#ifndef HG_ESTIMATE_H
#define HG_ESTIMATE_H

#include "base.h"
#include "printing.h"

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
