/* The live blocks, counted by size and by age: one look at the whole ledger. Not for events. */
#ifndef HG_CENSUS_H
#define HG_CENSUS_H

#include "base.h"
#include "estimate.h"

#define HG_CENSUS_SIZES 12u /* below 4 bytes, 8, 16, … 4096, and the others */
#define HG_CENSUS_AGES 5u   /* below 1 s, 10 s, 100 s, 1000 s, and the others */

struct hg_census {
    /* In 1/HG_BLOCK_FRACTION of a block: a sample stands for what it was taken for. */
    uint64_t sizes[HG_CENSUS_SIZES];
    uint64_t ages[HG_CENSUS_AGES];
    struct hg_variance size_variances[HG_CENSUS_SIZES], age_variances[HG_CENSUS_AGES];
    bool has_samples;
};

void hg_census_take(struct hg_census *census, uint64_t now_ns);

#endif
