/* What a sampled block stands for: integer arithmetic, a pure function of size and interval, so that
 * a free takes away exactly what the allocation added.
 *
 * A block of s bytes (an empty one counts as 1) is taken with probability p = 1 - exp(-s/interval),
 * so it stands for w = 1/p blocks like it. Computed with an error below 2^-24 of a block or 2^-24 of
 * w, whichever is more; then rounded to 1/HG_BLOCK_FRACTION of a block and to a byte. */
#ifndef HG_WEIGHT_H
#define HG_WEIGHT_H

#include "base.h"

struct hg_weight {
    uint64_t blocks; /* in 1/HG_BLOCK_FRACTION */
    uint64_t bytes;
    uint64_t blocks_variance[2]; /* as in hg_samples: w^2 - w, */
    uint64_t bytes_variance;     /* and for bytes */
};

/* From so many bytes on p is above 0.99: such blocks are all taken, and stand for themselves. */
HG_INLINE uint64_t hg_weight_certain(uint32_t shift) { return UINT64_C(4716) << shift >> 10; }

/* `shift` is the interval's logarithm, HG_SAMPLE_SHIFT_LEAST to _MOST. */
struct hg_weight hg_weight_of(uint64_t size, uint32_t shift);

#endif
