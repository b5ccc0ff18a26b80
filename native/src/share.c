#include "share.h"

#include "sites.h"
#include "stacks.h"

bool hg_share_start_shard(struct hg_thread *thread) {
    uint32_t number = thread->shard_number;
    return hg_table_start(&thread->samples, HG_KIND_SAMPLES, number, sizeof(struct hg_samples),
                          HG_MAX_SITES) &&
           hg_table_start(&thread->outcomes, HG_KIND_OUTCOMES, number, sizeof(struct hg_outcomes),
                          HG_MAX_SITES);
}

bool hg_share_find(struct hg_thread *thread, struct hg_block block, struct hg_share *share) {
    uint32_t shift = hg_stacks_sample_shift(block.site);
    share->site = block.site;
    share->line = hg_sites_line(&thread->counters, block.site);
    share->samples = NULL;
    if (shift) {
        share->weight = hg_weight_of(block.size, shift);
        share->samples = hg_table_slot(&thread->samples, block.site);
    } else {
        share->weight = (struct hg_weight){.blocks = 1, .bytes = block.size};
    }
    if (share->line && (share->samples || !shift)) return true;
    hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
    return false;
}

static void add_words(uint64_t *low, uint64_t *high, const uint64_t more[2]) {
    uint64_t sum = *low + more[0];
    hg_store(high, *high + more[1] + (sum < more[0]));
    hg_store(low, sum);
}

static void add_variance(uint64_t sum[2], const uint64_t more[2]) {
    add_words(&sum[0], &sum[1], more);
}

/* ---- buckets ------------------------------------------------------------------------------------- */

/* Where a line keeps what is outside its own bucket. */
struct kept {
    uint8_t *own;
    uint32_t *histogram, *variances;
};

/* A histogram is there only if its variances are. */
static bool make_histograms(const struct kept *kept) {
    uint32_t first = hg_sites_new_histograms(3);
    if (!first) return false;
    hg_store(kept->variances, first + 1);
    hg_store_release(kept->histogram, first);
    return true;
}

/* As sites.c does it for blocks that count once. */
static void count_in_bucket(struct hg_thread *thread, const struct hg_weight *weight,
                            const struct kept *kept, uint32_t bucket) {
    if (!*kept->own) hg_store(kept->own, (uint8_t)(bucket + 1));
    if (*kept->own == bucket + 1) return;
    bool is_there = *kept->histogram || make_histograms(kept);
    uint32_t number = hg_load(kept->variances);
    struct hg_histogram *counts = hg_sites_histogram(hg_load(kept->histogram));
    struct hg_histogram *low = hg_sites_histogram(number), *high = hg_sites_histogram(number + 1);
    if (!is_there || !counts || !low || !high) {
        hg_threads_lose(thread, HG_LOSS_HISTOGRAM);
        return;
    }
    hg_add_own(&counts->bucket[bucket], weight->blocks);
    add_words(&low->bucket[bucket], &high->bucket[bucket], weight->blocks_variance);
}

static void note_size(struct hg_thread *thread, const struct hg_share *share, uint64_t size) {
    struct hg_counters *line = share->line;
    struct kept kept = {&line->size_bucket, &line->size_histogram, &line->size_variances};
    if (size > line->largest) hg_store(&line->largest, size);
    if (~size > line->smallest_inverted) hg_store(&line->smallest_inverted, ~size);
    count_in_bucket(thread, &share->weight, &kept, hg_sites_bucket(size));
}

void hg_share_end_life(struct hg_thread *thread, const struct hg_share *share, uint64_t ticks) {
    struct hg_counters *line = share->line;
    struct kept kept = {&line->lifetime_bucket, &line->lifetime_histogram,
                        &line->lifetime_variances};
    if (share->samples) count_in_bucket(thread, &share->weight, &kept, hg_sites_bucket(ticks));
    else hg_sites_end_life(thread, line, ticks);
}

/* ---- counts -------------------------------------------------------------------------------------- */

void hg_share_arrive(struct hg_thread *thread, const struct hg_share *share, uint64_t size) {
    const struct hg_weight *w = &share->weight;
    struct hg_samples *samples = share->samples;
    if (!samples) {
        hg_sites_add(thread, share->line, size);
        return;
    }
    note_size(thread, share, size);
    hg_add_own(&share->line->allocations, w->blocks);
    hg_add_own(&share->line->bytes_allocated, w->bytes);
    hg_add_own(&samples->allocated, 1);
    add_variance(samples->allocated_blocks_variance, w->blocks_variance);
    hg_add_own(&samples->allocated_bytes_variance, w->bytes_variance);
}

void hg_share_depart(const struct hg_share *share) {
    const struct hg_weight *w = &share->weight;
    struct hg_samples *samples = share->samples;
    hg_add_own(&share->line->frees, w->blocks);
    hg_add_own(&share->line->bytes_freed, w->bytes);
    if (!samples) return;
    hg_add_own(&samples->freed, 1);
    add_variance(samples->freed_blocks_variance, w->blocks_variance);
    hg_add_own(&samples->freed_bytes_variance, w->bytes_variance);
}

static uint64_t *count_of(struct hg_counters *line, enum hg_outcome outcome) {
    switch (outcome) {
    case HG_OUTCOME_TEMPORARY: return &line->temporary;
    case HG_OUTCOME_REALLOC_IN_PLACE: return &line->realloc_in_place;
    case HG_OUTCOME_REALLOC_MOVED: return &line->realloc_moved;
    default: return &line->realloc_away;
    }
}

static uint64_t *variance_of(struct hg_outcomes *outcomes, enum hg_outcome outcome) {
    switch (outcome) {
    case HG_OUTCOME_TEMPORARY: return outcomes->temporary_variance;
    case HG_OUTCOME_REALLOC_IN_PLACE: return outcomes->realloc_in_place_variance;
    case HG_OUTCOME_REALLOC_MOVED: return outcomes->realloc_moved_variance;
    default: return outcomes->realloc_away_variance;
    }
}

void hg_share_note(struct hg_thread *thread, const struct hg_share *share,
                   enum hg_outcome outcome) {
    if (share->samples) {
        struct hg_outcomes *outcomes = hg_table_slot(&thread->outcomes, share->site);
        if (!outcomes) {
            hg_threads_lose(thread, HG_LOSS_COUNTERS_FULL);
            return;
        }
        add_variance(variance_of(outcomes, outcome), share->weight.blocks_variance);
    }
    hg_add_own(count_of(share->line, outcome), share->weight.blocks);
}
