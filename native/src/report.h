/* A report every few seconds: totals, and the live blocks by size and by age.
 *
 * Written by the service thread, each in one piece of less than a pipe takes at once, so that it
 * never stands half-way between lines of the program. One that cannot be written is counted, and the
 * next says so. */
#ifndef HG_REPORT_H
#define HG_REPORT_H

#include "base.h"
#include "service.h"
#include "site_sums.h"

/* ---- census ------------------------------------------------------------------------------------ */

/* The live blocks, counted by size and by age: one look at the whole ledger. Not for events. */

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

/* ---- report ------------------------------------------------------------------------------------ */

HG_GLOBAL struct hg_job g_report_job;

/* Let a report that is under way come to its end, within a bound. */
void hg_report_finish(void);

#endif
