#include "live_table.h"

#include "mode.h"
#include "site_sums.h"
#include "stacks.h"
#include "sys_socket.h"

/* The sums when the table was last reset, by site. */
static struct {
    struct hg_site_sums *sums;
    uint32_t count;
    size_t mapped;
} g_baseline;

void hg_live_table_start(void) { __builtin_memset(&g_baseline, 0, sizeof g_baseline); }

static size_t whole_pages(size_t size) { return (size + HG_PAGE - 1) / HG_PAGE * HG_PAGE; }

bool hg_live_table_reset(void) {
    uint32_t count = hg_site_sums_end();
    size_t size = whole_pages(count * sizeof(struct hg_site_sums));
    struct hg_site_sums *sums = hg_sys_map_scratch(size);
    if (!sums) return false;
    for (uint32_t site = 1; site < count; site++) sums[site] = hg_site_sums_of(site);
    if (g_baseline.sums) hg_sys_unmap_scratch(g_baseline.sums, g_baseline.mapped);
    g_baseline.sums = sums;
    g_baseline.count = count;
    g_baseline.mapped = size;
    return true;
}

/* ---- order ------------------------------------------------------------------------------------ */

typedef bool (*is_before)(const struct hg_live_stack *a, const struct hg_live_stack *b);

static bool is_larger(const struct hg_live_stack *a, const struct hg_live_stack *b) {
    if (a->bytes != b->bytes) return a->bytes > b->bytes;
    if (a->allocations != b->allocations) return a->allocations > b->allocations;
    return a->node < b->node;
}

static bool is_earlier(const struct hg_live_stack *a, const struct hg_live_stack *b) {
    return a->node < b->node;
}

static void sink(struct hg_live_stack *heap, uint32_t at, uint32_t count, is_before before) {
    struct hg_live_stack moved = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && before(&heap[child], &heap[child + 1])) child++;
        if (!before(&moved, &heap[child])) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* A heap: no memory, no recursion. */
static void sort(struct hg_live_stack *stacks, uint32_t count, is_before before) {
    for (uint32_t i = count / 2; i-- > 0;) sink(stacks, i, count, before);
    while (count > 1) {
        struct hg_live_stack last = stacks[--count];
        stacks[count] = stacks[0];
        stacks[0] = last;
        sink(stacks, 0, count, before);
    }
}

/* ---- stacks ----------------------------------------------------------------------------------- */

/* One site as a stack, its blocks in 1/HG_BLOCK_FRACTION; false when there is nothing to show. */
static bool read_site(uint32_t site, bool is_sampled, struct hg_live_stack *out) {
    static const struct hg_site_sums none;
    uint32_t node = hg_stacks_innermost_frame(site);
    if (!node) return false;
    struct hg_site_sums now = hg_site_sums_of(site);
    const struct hg_site_sums *then = site < g_baseline.count ? &g_baseline.sums[site] : &none;
    *out = (struct hg_live_stack){
        .node = node,
        .allocations = (int64_t)(now.allocations - then->allocations),
        .frees = (int64_t)(now.frees - then->frees),
        .bytes = (int64_t)(now.bytes_allocated - then->bytes_allocated) -
                 (int64_t)(now.bytes_freed - then->bytes_freed),
        .variance = is_sampled ? hg_estimate_of_site(site) : (struct hg_variance){0},
    };
    /* A block may be seen freed by one thread and not yet allocated by another. */
    if (!g_baseline.sums && out->bytes < 0) out->bytes = 0;
    return out->allocations || out->frees;
}

/* A stack that was sampled, at one interval or several, and recorded in full, has a site for each. */
static uint32_t merge(struct hg_live_stack *stacks, uint32_t count) {
    uint32_t kept = 0;
    sort(stacks, count, is_earlier);
    for (uint32_t i = 0; i < count; i++) {
        struct hg_live_stack *last = kept ? &stacks[kept - 1] : NULL;
        if (last && last->node == stacks[i].node) {
            last->allocations += stacks[i].allocations;
            last->frees += stacks[i].frees;
            last->bytes += stacks[i].bytes;
            hg_estimate_add(&last->variance, &stacks[i].variance);
        } else {
            stacks[kept++] = stacks[i];
        }
    }
    return kept;
}

/* The nearest whole number of blocks; more may be freed than allocated. */
static int64_t whole_blocks(int64_t fractions) {
    return fractions < 0 ? -(int64_t)hg_site_sums_whole_blocks(-(uint64_t)fractions)
                         : (int64_t)hg_site_sums_whole_blocks((uint64_t)fractions);
}

/* Only when all sites of a stack are added up. */
static void round_blocks(struct hg_live_table *table) {
    for (uint32_t i = 0; i < table->count; i++) {
        table->stacks[i].allocations = whole_blocks(table->stacks[i].allocations);
        table->stacks[i].frees = whole_blocks(table->stacks[i].frees);
    }
}

bool hg_live_table_take(struct hg_live_table *table) {
    uint32_t end = hg_site_sums_end();
    *table = (struct hg_live_table){.mapped = whole_pages(end * sizeof *table->stacks)};
    table->stacks = hg_sys_map_scratch(table->mapped);
    if (!table->stacks) return false;
    for (uint32_t site = 1; site < end; site++) {
        bool is_sampled = hg_mode_is_light() && hg_stacks_sample_shift(site);
        if (!read_site(site, is_sampled, &table->stacks[table->count])) continue;
        table->has_samples |= is_sampled;
        table->count++;
    }
    table->has_errors = table->has_samples && !g_baseline.sums;
    if (table->has_samples) table->count = merge(table->stacks, table->count);
    round_blocks(table);
    sort(table->stacks, table->count, is_larger);
    return true;
}

void hg_live_table_drop(struct hg_live_table *table) {
    if (table->stacks) hg_sys_unmap_scratch(table->stacks, table->mapped);
}
