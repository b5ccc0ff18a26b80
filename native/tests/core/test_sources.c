/* Sources of memory: a stack once however it was recorded, blocks rounded last, largest first. */
#include "sources.h"

#include "fixture.h"
#include "site_sums.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"

#define STACKS 4096u

static struct hg_thread *g_thread;

static struct hg_counters *line_of(uint32_t site) {
    struct hg_counters *line = hg_sites_line(&g_thread->counters, site);
    CHECK(line != NULL);
    return line;
}

static uint32_t site_at(uintptr_t address) { return hg_stacks_site(&address, 1, 0, 0); }

static void add_samples(uint32_t site, uint32_t shift, uint64_t fractions, uint64_t bytes) {
    struct hg_counters *line = line_of(hg_stacks_sampled(site, shift, 0));
    line->allocations = fractions;
    line->bytes_allocated = bytes;
}

static void one_stack_is_one_source(void) {
    struct hg_live_sources sources;
    g_thread = begin_events(5);
    uint32_t small = site_at(0x5000), large = site_at(0x6000);
    hg_sites_add(g_thread, line_of(small), 100);
    hg_sites_add(g_thread, line_of(large), 120);
    for (uint32_t shift = 10; shift < 13; shift++)
        add_samples(small, shift, 2 * HG_BLOCK_FRACTION, 50);
    CHECK(hg_sources_take_live(&sources));
    CHECK(sources.has_samples);
    CHECK_EQUAL(sources.count, 2);
    CHECK_EQUAL(sources.list[0].site, small);
    CHECK_EQUAL(sources.list[0].live, 250);
    CHECK_EQUAL(sources.list[0].live_blocks, 7 * HG_BLOCK_FRACTION);
    CHECK_EQUAL(sources.list[1].live, 120);
    CHECK_EQUAL(sources.list[1].live_blocks, HG_BLOCK_FRACTION);
    hg_sources_drop_live(&sources);
}

/* In any order of sites, none is lost: those that were added to another follow. */
static void what_is_merged_follows(void) {
    static struct hg_source list[STACKS];
    static bool is_there[STACKS];
    struct random r = random_start(1);
    uint64_t live = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        list[i] = (struct hg_source){.site = i, .frame = 1 + (uint32_t)random_below(&r, 100)};
        list[i].live = list[i].allocated = random_below(&r, 1000);
        live += list[i].live;
    }
    uint32_t count = hg_sources_merge(list, STACKS);
    CHECK_EQUAL(count, 100);
    for (uint32_t i = 0; i < STACKS; i++) {
        CHECK(!is_there[list[i].site]);
        is_there[list[i].site] = true;
        if (i < count) live -= list[i].live;
        if (i && i < count) CHECK(list[i - 1].frame < list[i].frame);
    }
    CHECK_EQUAL(live, 0);
}

/* 1.4 blocks each: rounded one by one they would be one each. */
static void blocks_are_rounded_last(void) {
    struct hg_live_sources sources;
    uint64_t blocks = 0;
    g_thread = begin_events(5);
    for (uint32_t i = 0; i < STACKS; i++) {
        add_samples(site_at(0x5000 + i), 8, 14 * HG_BLOCK_FRACTION / 10, 100);
    }
    CHECK(hg_sources_take_live(&sources));
    CHECK_EQUAL(sources.count, STACKS);
    for (uint32_t i = 0; i < STACKS; i++) blocks += sources.list[i].live_blocks;
    CHECK_EQUAL(hg_site_sums_whole_blocks(blocks), 5732);
    CHECK_EQUAL(hg_site_sums_whole_blocks(sources.list[0].live_blocks), 1);
    hg_sources_drop_live(&sources);
}

int main(void) {
    reset_options();
    RUN(one_stack_is_one_source);
    RUN(what_is_merged_follows);
    RUN(blocks_are_rounded_last);
    return 0;
}
