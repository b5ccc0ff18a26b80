#include "sites.h"

#include "recording.h"
#include "sys.h"

#define MAX_HISTOGRAMS (8u << 20)

struct hg_histogram **g_sites_histograms;
uint32_t g_sites_histograms_end;

static struct {
    struct hg_table table;
    uint32_t count; /* handed out */
} g_histograms;

bool hg_sites_start(void) {
    g_header->histograms = g_histograms.count = g_sites_histograms_end = 1; /* 0: none */
    g_sites_histograms =
        hg_sys_map_private((MAX_HISTOGRAMS >> HG_HISTOGRAMS_SHIFT) * sizeof *g_sites_histograms);
    return g_sites_histograms && hg_table_start(&g_histograms.table, HG_KIND_HISTOGRAMS, 0,
                                                sizeof(struct hg_histogram), MAX_HISTOGRAMS);
}

bool hg_sites_start_shard(struct hg_table *shard, uint32_t number) {
    return hg_table_start(shard, HG_KIND_COUNTERS, number, sizeof(struct hg_counters),
                          HG_MAX_SITES);
}

/* Up to the count, below which all are there. */
static void move_end(void) {
    uint32_t count = hg_load(&g_histograms.count);
    for (uint32_t id = hg_load(&g_sites_histograms_end); id < count; id++) {
        struct hg_histogram *made = hg_table_at(&g_histograms.table, id);
        uint32_t in_extent = id & ((1u << HG_HISTOGRAMS_SHIFT) - 1);
        hg_store(&g_sites_histograms[id >> HG_HISTOGRAMS_SHIFT], made - in_extent);
    }
    hg_raise(&g_sites_histograms_end, count);
}

/* A number is taken only when there is room for it, so that none is missing below the count. */
uint32_t hg_sites_new_histograms(uint32_t number) {
    uint32_t first = hg_load(&g_histograms.count);
    do {
        for (uint32_t id = first; id < first + number; id++) {
            if (id >= MAX_HISTOGRAMS || !hg_table_slot(&g_histograms.table, id)) return 0;
        }
    } while (!hg_swap(&g_histograms.count, &first, first + number));
    hg_raise(&g_header->histograms, first + number);
    move_end();
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
    uint32_t number = hg_load(histogram);
    if (!number || !hg_sites_tally(number, bucket)) hg_threads_lose(thread, HG_LOSS_HISTOGRAM);
}

void hg_sites_other_size(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket) {
    count_other(thread, &line->size_bucket, &line->size_histogram, bucket);
}

void hg_sites_other_lifetime(struct hg_thread *thread, struct hg_counters *line, uint32_t bucket) {
    count_other(thread, &line->lifetime_bucket, &line->lifetime_histogram, bucket);
}
