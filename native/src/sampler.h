/* Which blocks are sampled: a Poisson process along the bytes that a thread asks for.
 *
 * Each thread counts down to the next byte that is hit; the block that has it is taken. Distances
 * are drawn from an exponential distribution whose mean is the interval, in whole bytes rounded
 * down, which makes the probability for a block of s bytes exactly 1 - exp(-s/interval), whatever
 * came before. So what is left of a distance may be drawn anew at any block, from another interval
 * too. The logarithm is computed to 24 bits: distances are up to 5e-8 of the interval too
 * long. No floating point: that would set flags of the host's. */
#ifndef HG_SAMPLER_H
#define HG_SAMPLER_H

#include "base.h"

/* ---- weight ------------------------------------------------------------------------------------ */

/* What a sampled block stands for: integer arithmetic, a pure function of size and interval, so that
 * a free takes away exactly what the allocation added.
 *
 * A block of s bytes (an empty one counts as 1) is taken with probability p = 1 - exp(-s/interval),
 * so it stands for w = 1/p blocks like it. Computed with an error below 2^-24 of a block or 2^-24 of
 * w, whichever is more; then rounded to 1/HG_BLOCK_FRACTION of a block and to a byte. */

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

/* ---- sampler ----------------------------------------------------------------------------------- */

struct hg_sampler {
    int64_t left;   /* bytes to the next hit, or to the next look; below 0: look now */
    uint64_t rest;  /* bytes more to the next hit, beyond those */
    uint32_t shift; /* the interval that the distance was drawn from; 0: none was */
    uint64_t random;
};

#define HG_SAMPLER_PASS UINT32_MAX

/* The interval's logarithm that new distances are drawn from; 0: every block is taken. */
void hg_sampler_use(uint32_t shift);
uint32_t hg_sampler_shift(void);

/* The shortest and the longest that there were since the start; 0: none. */
struct hg_sampler_range {
    uint32_t shortest, longest;
};
struct hg_sampler_range hg_sampler_range(void);

/* Look, if for nothing else, after so many bytes at the latest, or an eighth of the interval if that is
 * more; 0: only when it must be. Changes nothing about which blocks are taken. */
void hg_sampler_look_after(uint64_t bytes);

/* When a recording starts: 0 for a seed of its own. */
void hg_sampler_start(uint64_t seed);
/* Ready for a new thread. */
void hg_sampler_attach(struct hg_sampler *sampler);

/* Count a block in the countdown; true: hg_sampler_take() must look. */
HG_INLINE bool hg_sampler_count(struct hg_sampler *sampler, size_t size) {
    return hg_subtract_at_once(&sampler->left, size + !size);
}

/* There was no such block after all. Where it may have ended the countdown see hg_sampler_forget(). */
HG_INLINE void hg_sampler_uncount(struct hg_sampler *sampler, size_t size) {
    hg_add_at_once(&sampler->left, size + !size);
}

/* Whether a block is taken: the interval's logarithm, 0 if exactly, or HG_SAMPLER_PASS. It may or
 * may not have been counted. */
uint32_t hg_sampler_take(struct hg_sampler *sampler, size_t size);
/* There is no block after all: the allocation failed. */
void hg_sampler_forget(struct hg_sampler *sampler, size_t size);

/* A distance in bytes, from 64 random bits. */
uint64_t hg_sampler_distance(uint64_t random, uint32_t shift);

#endif
