/* The filter: never a recorded block that it denies, whatever the order; and it forgets again. */
#include "filter.h"

#include "fixture.h"
#include "test.h"

static void *at(uintptr_t address) { return (void *)address; }

static void counts_in_and_out(void) {
    hg_filter_clear();
    CHECK(!hg_filter_may_hold(at(0x10000)));
    hg_filter_add(at(0x10000));
    hg_filter_add(at(0x10040));
    CHECK(hg_filter_may_hold(at(0x10000)));
    hg_filter_remove(at(0x10000));
    CHECK(hg_filter_may_hold(at(0x10040)));
    CHECK(!hg_filter_may_hold(at(0x10100)));
    hg_filter_remove(at(0x10040));
    CHECK(!hg_filter_may_hold(at(0x10000)));
}

/* What only lies beside a block is told from it. */
static void looks_closely(void) {
    hg_filter_clear();
    hg_filter_add(at(0x10040));
    CHECK(hg_filter_counts(at(0x10000)) && !hg_filter_counts_finely(at(0x10000)));
    CHECK(!hg_filter_counts_finely(at(0x10048)));
    CHECK(hg_filter_counts(at(0x10040)) && hg_filter_counts_finely(at(0x10040)));
    hg_filter_remove(at(0x10040));
    CHECK(!hg_filter_counts_finely(at(0x10040)));
}

/* A counter at its top no longer knows how many there are. */
static void full_counters_stay(void) {
    hg_filter_clear();
    for (uint32_t i = 0; i < 300; i++) hg_filter_add(at(0x20000));
    for (uint32_t i = 0; i < 300; i++) hg_filter_remove(at(0x20000));
    CHECK(hg_filter_may_hold(at(0x20000)));
    hg_filter_clear();
    hg_filter_mark(NULL);
    hg_filter_remove(NULL);
    CHECK(hg_filter_may_hold(NULL));
}

static void sees_the_shadow(void) {
    struct hg_block replaced;
    begin_events(5);
    hg_filter_clear();
    CHECK(hg_ledger_put(0x30020, (struct hg_block){100, 2, 1}, &replaced));
    CHECK(!hg_filter_may_hold(at(0x30020)));
    hg_filter_see_shadow();
    CHECK(hg_filter_may_hold(at(0x30020)));
    CHECK(!hg_filter_may_hold(at(0x30060)));
    hg_ledger_take(0x30020);
    CHECK(!hg_filter_may_hold(at(0x30020)));
}

static void sees_the_shadow_of_middle_blocks(void) {
    struct hg_block block = {5000, 2, 1}, replaced;
    begin_events(5);
    hg_filter_clear();
    hg_filter_see_shadow();
    for (uintptr_t address = 0x1000020; address < 0x2000000; address += 0x10000) {
        CHECK(hg_ledger_put(address, block, &replaced));
        CHECK(hg_filter_may_hold(at(address)));
        CHECK(!hg_filter_may_hold(at(address + 32)));
    }
    CHECK(!hg_ledger_find(0x1ff0020));
    hg_ledger_take(0x1ff0020);
    CHECK(!hg_filter_may_hold(at(0x1ff0020)));
}

static void add_and_remove(void *argument, uint32_t number) {
    (void)argument;
    struct random r = random_start(number);
    for (uint32_t i = 0; i < 20000; i++) {
        void *block = at(0x40000 + random_below(&r, 4) * HG_FILTER_GRAIN);
        hg_filter_add(block);
        CHECK(hg_filter_may_hold(block) && hg_filter_counts_finely(block));
        hg_filter_remove(block);
    }
}

static void threads(void) {
    hg_filter_clear();
    run_threads(4, add_and_remove, NULL);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(!hg_filter_may_hold(at(0x40000 + i * HG_FILTER_GRAIN)));
    }
}

int main(void) {
    RUN(counts_in_and_out);
    RUN(looks_closely);
    RUN(full_counters_stay);
    RUN(sees_the_shadow);
    RUN(sees_the_shadow_of_middle_blocks);
    RUN(threads);
    return 0;
}
