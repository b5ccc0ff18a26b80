#include "sites.h"

#include "recording.h"

#define MAX_HISTOGRAMS (8u << 20)

struct hg_table g_sites_histograms;

bool hg_sites_start(void) {
    g_header->histograms = 1; /* 0: none */
    return hg_table_start(&g_sites_histograms, HG_KIND_HISTOGRAMS, 0, sizeof(struct hg_histogram),
                          MAX_HISTOGRAMS);
}

bool hg_sites_start_shard(struct hg_table *shard, uint32_t number) {
    return hg_table_start(shard, HG_KIND_COUNTERS, number, sizeof(struct hg_counters),
                          HG_MAX_SITES);
}

uint32_t hg_sites_new_histograms(uint32_t number) {
    uint32_t first = hg_add_shared(&g_header->histograms, number);
    for (uint32_t id = first; id < first + number; id++) {
        if (id >= MAX_HISTOGRAMS || !hg_table_slot(&g_sites_histograms, id)) return 0;
    }
    return first;
}

/* The first value gives the line its own bucket, at no further cost for all that fall into it; a
 * value elsewhere gives it a histogram. */
static void count_other(struct hg_thread *thread, uint8_t *own, uint32_t *histogram,
                        uint32_t bucket) {
    if (!*own) {
        hg_store(own, (uint8_t)(bucket + 1));
        return;
    }
    if (!*histogram) hg_store_release(histogram, hg_sites_new_histograms(1));
    if (!*histogram) {
        hg_threads_lose(thread, HG_LOSS_HISTOGRAM);
        return;
    }
    hg_sites_tally(*histogram, bucket);
}

void hg_sites_other_size(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket) {
    count_other(thread, &line->size_bucket, &line->size_histogram, bucket);
}

void hg_sites_other_lifetime(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket) {
    count_other(thread, &line->lifetime_bucket, &line->lifetime_histogram, bucket);
}
