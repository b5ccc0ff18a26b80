/* The live table: largest first, a stack once however it was recorded, from zero after a reset. */
#include "answers.h"
#include "mode.h"

#include "fixture.h"
#include "recording.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"

#define STACKS 3000u

static struct hg_live_table g_table;

static const struct hg_live_table *take(void) {
    hg_live_table_drop(&g_table);
    CHECK(hg_live_table_take(&g_table));
    return &g_table;
}

static struct hg_thread *begin(void) {
    g_table = (struct hg_live_table){0};
    hg_live_table_start();
    return begin_events(5);
}

static struct hg_counters *line_of(struct hg_thread *thread, uint32_t site) {
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    CHECK(line != NULL);
    return line;
}

static uint32_t site_at(uintptr_t address) { return hg_stacks_site(&address, 1, 0, 0); }

static void an_empty_heap_is_an_empty_table(void) {
    begin();
    CHECK_EQUAL(take()->count, 0);
    site_at(0x5000); /* never counted */
    CHECK_EQUAL(take()->count, 0);
}

static void the_largest_come_first(void) {
    struct hg_thread *thread = begin();
    struct random r = random_start(2);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < STACKS; i++) {
        uint64_t size = random_of_bits(&r, 20);
        hg_sites_add(thread, line_of(thread, site_at(0x5000 + i)), size);
        sum += size;
    }
    const struct hg_live_table *table = take();
    CHECK_EQUAL(table->count, STACKS);
    for (uint32_t i = 0; i < table->count; i++) {
        CHECK_EQUAL(table->stacks[i].allocations, 1);
        if (i) CHECK(table->stacks[i - 1].bytes >= table->stacks[i].bytes);
        sum -= (uint64_t)table->stacks[i].bytes;
    }
    CHECK_EQUAL(sum, 0);
}

static void one_stack_is_one_row(void) {
    struct hg_thread *thread = begin();
    g_mode_is_light = true;
    uint32_t site = site_at(0x5000);
    hg_sites_add(thread, line_of(thread, site), 100);
    for (uint32_t shift = 10; shift < 13; shift++) {
        struct hg_counters *line = line_of(thread, hg_stacks_sampled(site, shift, 0));
        line->allocations = 2 * HG_BLOCK_FRACTION;
        line->bytes_allocated = 50;
    }
    const struct hg_live_table *table = take();
    CHECK_EQUAL(table->count, 1);
    CHECK(table->has_samples);
    CHECK_EQUAL(table->stacks[0].allocations, 7);
    CHECK_EQUAL(table->stacks[0].bytes, 250);
    CHECK_EQUAL(table->stacks[0].node, hg_stacks_innermost(site));
}

/* Not site by site: three times 1.4 blocks are four, not three. */
static void blocks_are_rounded_last(void) {
    struct hg_thread *thread = begin();
    g_mode_is_light = true;
    for (uint32_t shift = 10; shift < 13; shift++) {
        struct hg_counters *line = line_of(thread, hg_stacks_sampled(site_at(0x5000), shift, 0));
        line->allocations = line->frees = 14 * HG_BLOCK_FRACTION / 10;
    }
    CHECK_EQUAL(take()->stacks[0].allocations, 4);
    CHECK_EQUAL(take()->stacks[0].frees, 4);
}

static void a_reset_counts_from_there(void) {
    struct hg_thread *thread = begin();
    struct hg_counters *old = line_of(thread, site_at(0x5000));
    hg_sites_add(thread, old, 100);
    hg_sites_add(thread, old, 100);
    CHECK(hg_live_table_reset());
    CHECK_EQUAL(take()->count, 0);
    hg_sites_remove(old, 100);
    hg_sites_add(thread, line_of(thread, site_at(0x6000)), 30); /* new since */
    const struct hg_live_table *table = take();
    CHECK_EQUAL(table->count, 2);
    CHECK_EQUAL(table->stacks[0].bytes, 30);
    CHECK_EQUAL(table->stacks[1].frees, 1);
    CHECK_EQUAL(table->stacks[1].bytes, -100);
    CHECK(hg_live_table_reset());
    CHECK_EQUAL(take()->count, 0);
}

static void what_is_not_seen_yet_is_not_negative(void) {
    struct hg_thread *thread = begin();
    hg_sites_remove(line_of(thread, site_at(0x5000)), 100);
    CHECK_EQUAL(take()->stacks[0].bytes, 0);
}

int main(void) {
    reset_options();
    RUN(an_empty_heap_is_an_empty_table);
    RUN(the_largest_come_first);
    RUN(one_stack_is_one_row);
    RUN(blocks_are_rounded_last);
    RUN(a_reset_counts_from_there);
    RUN(what_is_not_seen_yet_is_not_negative);
    return 0;
}
