#include "site_sums.h"

#include "recording.h"
#include "sites.h"
#include "stacks.h"

uint32_t hg_site_sums_end(void) { return hg_stacks_sites(); }

/* Add one shard's line of `site`, if it was ever touched. */
static void add_line(struct hg_site_sums *sums, const struct hg_table *shard, uint32_t site) {
    struct hg_counters *line;
    if (!hg_sites_has_line(shard, site, &line)) return;
    sums->allocations += hg_load(&line->allocations);
    sums->frees += hg_load(&line->frees);
    sums->bytes_allocated += hg_load(&line->bytes_allocated);
    sums->bytes_freed += hg_load(&line->bytes_freed);
}

struct hg_site_sums hg_site_sums_unscaled(uint32_t site) {
    struct hg_site_sums sums = {0};
    if (hg_stacks_is_annotated(site)) return sums;
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        const struct hg_table *shard = hg_threads_shard(i);
        if (shard) add_line(&sums, shard, site);
    }
    return sums;
}

struct hg_site_sums hg_site_sums_of(uint32_t site) {
    struct hg_site_sums sums = hg_site_sums_unscaled(site);
    if (hg_stacks_sample_shift(site)) return sums;
    sums.allocations *= HG_BLOCK_FRACTION;
    sums.frees *= HG_BLOCK_FRACTION;
    return sums;
}
