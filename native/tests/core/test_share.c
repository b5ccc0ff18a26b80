/* What blocks count for under sites, sampled and exact, against sums of the weights themselves. */
#include "share.h"

#include <sys/resource.h>

#include "fixture.h"
#include "options.h"
#include "recording.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"

/* A count in fractions of a block, and its variance. */
struct sum {
    uint64_t blocks;
    unsigned __int128 variance;
};

struct naive {
    struct sum allocated, freed, outcomes[4];
    struct sum sizes[HG_BUCKETS], lifetimes[HG_BUCKETS];
};

static unsigned __int128 join(uint64_t low, uint64_t high) {
    return (unsigned __int128)high << 64 | low;
}

static void add(struct sum *sum, const struct hg_weight *w) {
    sum->blocks += w->blocks;
    sum->variance += join(w->blocks_variance[0], w->blocks_variance[1]);
}

static void check_sum(uint64_t blocks, unsigned __int128 variance, const struct sum *wanted) {
    CHECK_EQUAL(blocks, wanted->blocks);
    CHECK(variance == wanted->variance);
}

/* As docs/format.md says it: what is stored, and in the line's own bucket the rest of `whole`. */
static void check_buckets(uint8_t own, uint32_t histogram, uint32_t variances, struct sum whole,
                          const struct sum *wanted) {
    for (uint32_t b = 0; b < HG_BUCKETS; b++) {
        struct sum stored = {0, 0};
        if (histogram && b + 1 != own) {
            const struct hg_histogram *first = hg_sites_histogram(variances);
            const struct hg_histogram *second = hg_sites_histogram(variances + 1);
            const struct hg_histogram *counts = hg_sites_histogram(histogram);
            stored = (struct sum){counts->bucket[b], join(first->bucket[b], second->bucket[b])};
        }
        if (b + 1 != own) check_sum(stored.blocks, stored.variance, &wanted[b]);
        whole.blocks -= stored.blocks;
        whole.variance -= stored.variance;
    }
    CHECK(own != 0);
    check_sum(whole.blocks, whole.variance, &wanted[own - 1]);
}

static void check_outcomes(struct hg_thread *thread, uint32_t site, const struct naive *n) {
    const struct hg_counters *line = hg_sites_line(&thread->counters, site);
    const struct hg_outcomes *o = hg_table_find(&thread->outcomes, site);
    CHECK(o != NULL);
    const uint64_t counts[] = {line->temporary, line->realloc_in_place, line->realloc_moved,
                               line->realloc_away};
    const uint64_t *variances[] = {o->temporary_variance, o->realloc_in_place_variance,
                                   o->realloc_moved_variance, o->realloc_away_variance};
    for (uint32_t i = 0; i < 4; i++)
        check_sum(counts[i], join(variances[i][0], variances[i][1]), &n->outcomes[i]);
}

static void check_naive(struct hg_thread *thread, uint32_t site, const struct naive *n) {
    const struct hg_counters *line = hg_sites_line(&thread->counters, site);
    struct sum ended = n->freed;
    CHECK_EQUAL(line->allocations, n->allocated.blocks);
    CHECK_EQUAL(line->frees, n->freed.blocks);
    ended.blocks -= n->outcomes[HG_OUTCOME_REALLOC_AWAY].blocks;
    ended.variance -= n->outcomes[HG_OUTCOME_REALLOC_AWAY].variance;
    check_outcomes(thread, site, n);
    check_buckets(line->size_bucket, line->size_histogram, line->size_variances, n->allocated,
                  n->sizes);
    check_buckets(line->lifetime_bucket, line->lifetime_histogram, line->lifetime_variances, ended,
                  n->lifetimes);
}

static struct hg_thread *begin(uint32_t *exact) {
    struct hg_thread *thread = begin_events(5);
    uintptr_t frames[] = {0x1000};
    CHECK(hg_share_start_shard(thread));
    *exact = hg_stacks_site(frames, 1, 0, 0);
    return thread;
}

static void come_and_go(struct hg_thread *thread, uint32_t site, struct naive *n,
                        struct random *r) {
    uint64_t size = random_of_bits(r, 24), ticks = random_of_bits(r, 30);
    struct hg_share share;
    CHECK(hg_share_find(thread, (struct hg_block){size, site, 0}, &share));
    hg_share_arrive(thread, &share, size);
    add(&n->allocated, &share.weight);
    add(&n->sizes[hg_sites_bucket(size)], &share.weight);
    uint32_t outcome = (uint32_t)random_below(r, 5);
    if (outcome < 4) {
        hg_share_note(thread, &share, (enum hg_outcome)outcome);
        add(&n->outcomes[outcome], &share.weight);
    }
    if (outcome != HG_OUTCOME_REALLOC_AWAY) {
        hg_share_end_life(thread, &share, ticks);
        add(&n->lifetimes[hg_sites_bucket(ticks)], &share.weight);
    }
    hg_share_depart(&share);
    add(&n->freed, &share.weight);
}

/* At the longest interval variances need more than 64 bits. */
static void sampled(void) {
    struct random r = random_start(50);
    uint32_t exact;
    struct hg_thread *thread = begin(&exact);
    for (uint32_t shift = HG_SAMPLE_SHIFT_LEAST; shift <= HG_SAMPLE_SHIFT_MOST; shift += 11) {
        struct naive n = {0};
        uint32_t site = hg_stacks_sampled(exact, shift, 0);
        for (uint32_t i = 0; i < 3000; i++) come_and_go(thread, site, &n, &r);
        check_naive(thread, site, &n);
    }
    CHECK_EQUAL(thread->record->losses[HG_LOSS_HISTOGRAM], 0);
}

/* A block that was recorded exactly counts once, and nothing stands beside its line. */
static void exactly(void) {
    uint32_t exact;
    struct hg_thread *thread = begin(&exact);
    struct hg_share share;
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(hg_share_find(thread, (struct hg_block){100 << i, exact, 0}, &share));
        hg_share_arrive(thread, &share, 100 << i);
        hg_share_note(thread, &share, HG_OUTCOME_TEMPORARY);
        hg_share_end_life(thread, &share, i);
        hg_share_depart(&share);
    }
    const struct hg_counters *line = share.line;
    CHECK_EQUAL(line->allocations, 5);
    CHECK_EQUAL(line->frees, 5);
    CHECK_EQUAL(line->temporary, 5);
    CHECK_EQUAL(line->bytes_freed, 3100);
    CHECK_EQUAL(line->largest, 1600);
    CHECK(line->size_histogram && line->lifetime_histogram);
    CHECK(!line->size_variances && !line->lifetime_variances);
    CHECK(!hg_table_find(&thread->samples, exact) && !hg_table_find(&thread->outcomes, exact));
}

static void use_up_space(void) {
    const uint64_t most = UINT64_C(1) << 30;
    CHECK(setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, most}) == 0);
    for (uint64_t piece = most / 16; piece >= HG_STEP; piece /= 2) {
        while (hg_recording_extent(HG_KIND_NONE, 0, 0, piece)) continue;
    }
}

/* As of exact lines: what finds no room is counted as lost, and looks as if it were in the own bucket. */
static void without_room(void) {
    uint32_t exact;
    struct hg_thread *thread = begin(&exact);
    struct hg_share share;
    uint32_t site = hg_stacks_sampled(exact, 16, 0);
    CHECK(hg_share_find(thread, (struct hg_block){100, site, 0}, &share));
    use_up_space();
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(hg_share_find(thread, (struct hg_block){100 << i, site, 0}, &share));
        hg_share_arrive(thread, &share, 100 << i);
    }
    CHECK_EQUAL(thread->record->losses[HG_LOSS_HISTOGRAM], 3);
    CHECK_EQUAL(share.samples->allocated, 4);
    CHECK(!share.line->size_histogram && !share.line->size_variances);
}

int main(void) {
    reset_options();
    RUN(sampled);
    RUN(exactly);
    RUN(without_room);
    return 0;
}
