#include "site_sums.h"

#include "recording.h"
#include "sampler.h"
#include "sites.h"
#include "stacks.h"
#include "thread.h"

/* ---- site sums --------------------------------------------------------------------------------- */

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

/* ---- estimate ---------------------------------------------------------------------------------- */

typedef unsigned __int128 wide;

static wide join(const uint64_t words[2]) {
    return (wide)hg_load(&words[1]) << 64 | hg_load(&words[0]);
}

/* hg_samples counts bytes in 1/256ths of the interval. */
static wide in_bytes(wide variance, uint32_t shift) {
    return variance << 2 * (shift - HG_SAMPLE_SHIFT_LEAST);
}

/* Threads count on while they are read: a free may be seen before its allocation. */
static wide less(wide from, wide what) { return from > what ? from - what : 0; }

void hg_estimate_add(struct hg_variance *sum, const struct hg_variance *more) {
    sum->blocks += more->blocks;
    sum->bytes += more->bytes;
}

struct hg_variance hg_estimate_of_block(uint64_t size, uint32_t shift) {
    struct hg_weight w = hg_weight_of(size, shift);
    return (struct hg_variance){join(w.blocks_variance), in_bytes(w.bytes_variance, shift)};
}

struct hg_variance hg_estimate_of_site(uint32_t site) {
    uint32_t shift = hg_stacks_sample_shift(site);
    wide blocks = 0, blocks_freed = 0, bytes = 0, bytes_freed = 0;
    if (!shift) return (struct hg_variance){0};
    for (uint32_t i = 0, n = hg_threads_shards(); i < n; i++) {
        const struct hg_samples *samples = hg_threads_samples(i, site);
        if (!samples) continue;
        blocks += join(samples->allocated_blocks_variance);
        blocks_freed += join(samples->freed_blocks_variance);
        bytes += hg_load(&samples->allocated_bytes_variance);
        bytes_freed += hg_load(&samples->freed_bytes_variance);
    }
    return (struct hg_variance){less(blocks, blocks_freed),
                                in_bytes(less(bytes, bytes_freed), shift)};
}

/* Bit by bit: few numbers are printed. */
static uint64_t root(wide square) {
    uint64_t found = 0;
    for (uint64_t bit = UINT64_C(1) << 63; bit; bit >>= 1) {
        uint64_t tried = found | bit;
        if ((wide)tried * tried <= square) found = tried;
    }
    /* (found + 1/2)^2 is found^2 + found + 1/4. */
    return found + (square - (wide)found * found > found);
}

uint64_t hg_estimate_blocks_error(const struct hg_variance *variance) {
    return (root(variance->blocks) + 128) >> 8;
}

uint64_t hg_estimate_bytes_error(const struct hg_variance *variance) {
    return root(variance->bytes);
}

static uint64_t interval(uint32_t shift) { return UINT64_C(1) << shift; }

void hg_estimate_print_interval(struct hg_printer *out) {
    struct hg_sampler_range range = hg_sampler_range();
    /* Within a budget it begins with recording every block. */
    bool is_in_part = hg_load(&g_header->budget_ppm);
    hg_print_text(out, is_in_part ? "sampled in part, once in " : "sampled once in ");
    hg_print_decimal(out, interval(range.shortest));
    if (range.longest > range.shortest) {
        hg_print_text(out, " to ");
        hg_print_decimal(out, interval(range.longest));
    }
    hg_print_text(out, " bytes");
}
