/* Live blocks by size and by age: every class from both of its ends, and random ledgers counted by
 * another rule. */
#include "mode.h"
#include "report.h"

#include "clock.h"
#include "fixture.h"
#include "ledger.h"
#include "recording.h"
#include "sampler.h"
#include "stacks.h"
#include "test.h"

#define SECOND UINT64_C(1000000000)
#define TICK_NS (UINT64_C(1) << HG_TICK_SHIFT)

static void put(uintptr_t address, uint64_t size, uint32_t site, uint64_t born_ns) {
    struct hg_block replaced;
    struct hg_block block = {.size = size, .site = site, .birth = hg_clock_birth(born_ns)};
    CHECK(hg_ledger_put(address, block, &replaced));
}

static uint64_t blocks_in(uint64_t fractions) {
    CHECK_EQUAL(fractions % HG_BLOCK_FRACTION, 0);
    return fractions / HG_BLOCK_FRACTION;
}

/* One block of this size and age: the only class that it is in. */
static void check_classes(uint64_t size, uint64_t age_ticks, uint32_t size_class,
                          uint32_t age_class) {
    struct hg_census census;
    uint64_t now = 4000 * SECOND / TICK_NS * TICK_NS; /* births are still exact */
    begin_events(5);
    put(0x10000, size, 1, now - age_ticks * TICK_NS);
    hg_census_take(&census, now);
    for (uint32_t i = 0; i < HG_CENSUS_SIZES; i++)
        CHECK_EQUAL(blocks_in(census.sizes[i]), i == size_class);
    for (uint32_t i = 0; i < HG_CENSUS_AGES; i++)
        CHECK_EQUAL(blocks_in(census.ages[i]), i == age_class);
    CHECK(!census.has_samples);
}

static void sizes_begin_where_they_say(void) {
    check_classes(0, 0, 0, 0);
    check_classes(3, 0, 0, 0);
    for (uint32_t class = 1; class < HG_CENSUS_SIZES; class++) {
        check_classes(UINT64_C(2) << class, 0, class, 0);
        if (class + 1 < HG_CENSUS_SIZES) check_classes((UINT64_C(4) << class) - 1, 0, class, 0);
    }
    check_classes(UINT64_C(1) << 40, 0, HG_CENSUS_SIZES - 1, 0);
}

static void ages_begin_where_they_say(void) {
    uint64_t limit = SECOND;
    for (uint32_t class = 0; class + 1 < HG_CENSUS_AGES; class++, limit *= 10) {
        uint64_t last = (limit - 1) / TICK_NS; /* the last tick before it */
        check_classes(8, last, 2, class);
        check_classes(8, last + 1, 2, class + 1);
    }
}

static void births_in_the_future_are_new(void) {
    struct hg_census census;
    begin_events(5);
    put(0x10000, 8, 1, 10 * SECOND);
    hg_census_take(&census, 9 * SECOND); /* another thread's clock may be a little ahead */
    CHECK_EQUAL(blocks_in(census.ages[0]), 1);
}

static uint32_t class_by_the_book(uint64_t size) {
    uint32_t class = 0;
    for (uint64_t limit = 4; class + 1 < HG_CENSUS_SIZES && size >= limit; limit *= 2) class++;
    return class;
}

static void every_block_is_seen_once(void) {
    struct random r = random_start(1);
    struct hg_census census;
    uint64_t sizes[HG_CENSUS_SIZES] = {0};
    begin_events(5);
    for (uintptr_t i = 1; i <= 5000; i++) {
        /* Some above what the shadow covers. */
        uintptr_t address = i << 21 | (i % 7 ? 0 : UINT64_C(1) << 50);
        uint64_t size = random_of_bits(&r, 30);
        put(address, size, 1 + (uint32_t)random_below(&r, 100), 0);
        if (random_below(&r, 3)) sizes[class_by_the_book(size)]++;
        else CHECK(hg_ledger_take(address).site);
    }
    hg_census_take(&census, 0);
    for (uint32_t i = 0; i < HG_CENSUS_SIZES; i++)
        CHECK_EQUAL(blocks_in(census.sizes[i]), sizes[i]);
}

static void samples_count_for_what_they_stand_for(void) {
    struct hg_census census;
    struct hg_thread *thread = begin_events(5);
    CHECK(thread != NULL);
    g_mode_is_light = true;
    uintptr_t frames[] = {0x1000};
    uint32_t site = hg_stacks_sampled(hg_stacks_site(frames, 1, 0, 0), 12, 0);
    put(0x10000, 100, site, 0);
    hg_census_take(&census, 0);
    CHECK(census.has_samples);
    CHECK_EQUAL(census.sizes[class_by_the_book(100)], hg_weight_of(100, 12).blocks);
    CHECK(census.sizes[class_by_the_book(100)] > 30 * HG_BLOCK_FRACTION);
    /* One sample of w blocks: the error is the root of w (w - 1), a little below w. */
    uint64_t error = hg_estimate_blocks_error(&census.size_variances[class_by_the_book(100)]);
    uint64_t blocks = census.sizes[class_by_the_book(100)] / HG_BLOCK_FRACTION;
    CHECK(error + 1 >= blocks && error <= blocks);
    CHECK_EQUAL(hg_estimate_blocks_error(&census.age_variances[0]), error);
}

int main(void) {
    reset_options();
    RUN(sizes_begin_where_they_say);
    RUN(ages_begin_where_they_say);
    RUN(births_in_the_future_are_new);
    RUN(every_block_is_seen_once);
    RUN(samples_count_for_what_they_stand_for);
    return 0;
}
