#include "sites.h"

#include "recording.h"

#define MAX_HISTOGRAMS (8u << 20)

static struct hg_table g_histograms;

bool hg_sites_start(void) {
    g_header->histograms = 1; /* 0: none */
    return hg_table_start(&g_histograms, HG_KIND_HISTOGRAMS, 0, sizeof(struct hg_histogram),
                          MAX_HISTOGRAMS);
}

bool hg_sites_start_shard(struct hg_table *shard, uint32_t number) {
    return hg_table_start(shard, HG_KIND_COUNTERS, number, sizeof(struct hg_counters),
                          HG_MAX_SITES);
}

static uint32_t new_histogram(void) {
    uint32_t id = hg_add_shared(&g_header->histograms, 1);
    return id < MAX_HISTOGRAMS && hg_table_slot(&g_histograms, id) ? id : 0;
}

/* A value fell outside the only bucket seen so far: give the line a histogram, with the `before`
 * values that the line's counters implied, and count this one. */
static void spread(struct hg_thread *thread, uint8_t *only, uint32_t *histogram, uint64_t before,
                   uint32_t bucket) {
    if (*only == HG_BUCKET_NONE) {
        hg_store(only, (uint8_t)(bucket + 1));
        return;
    }
    if (*only != HG_BUCKET_MANY) {
        uint32_t made = new_histogram();
        if (made) {
            struct hg_histogram *fresh = hg_table_at(&g_histograms, made);
            hg_store(&fresh->bucket[*only - 1], before);
            hg_store(histogram, made);
        } else {
            hg_add_own(&thread->record->losses[HG_LOSS_HISTOGRAM], before);
        }
        hg_store_release(only, HG_BUCKET_MANY);
    }
    if (!*histogram) {
        hg_add_own(&thread->record->losses[HG_LOSS_HISTOGRAM], 1);
        return;
    }
    struct hg_histogram *counts = hg_table_at(&g_histograms, *histogram);
    hg_add_own(&counts->bucket[bucket], 1);
}

void hg_sites_spread_sizes(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket) {
    spread(thread, &line->size_bucket, &line->size_histogram, line->allocations, bucket);
}

void hg_sites_spread_lifetimes(struct hg_thread *thread, struct hg_counters *line,
                               uint32_t bucket) {
    spread(thread, &line->lifetime_bucket, &line->lifetime_histogram,
           line->frees - line->realloc_away, bucket);
}
