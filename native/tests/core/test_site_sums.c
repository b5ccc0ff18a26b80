/* Sites' counters, summed over shards. */
#include "site_sums.h"

#include "fixture.h"
#include "sites.h"
#include "stacks.h"
#include "test.h"

static void add_to(struct hg_thread *thread, uint32_t site, uint64_t size, bool arrives) {
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    CHECK(line != NULL);
    if (arrives) hg_sites_add(thread, line, size);
    else hg_sites_remove(line, size);
}

static void sums_shards(void) {
    struct hg_thread *one = begin_events(4);
    hg_thread_be(one, HG_THREAD_IN_RECORDER, 0); /* or its slot would be taken for a dead one */
    forget_thread();
    struct hg_thread *two = hg_threads_attach();
    uintptr_t frames[] = {0x1000, 0x2000};
    uint32_t site = hg_stacks_site(frames, 2, 0, 0);
    CHECK(one != two && hg_site_sums_end() == site + 1);
    add_to(one, site, 100, true);
    add_to(two, site, 50, true);
    add_to(two, site, 100, false);
    struct hg_site_sums sums = hg_site_sums_of(site);
    CHECK_EQUAL(sums.allocations, 2 * HG_BLOCK_FRACTION);
    CHECK_EQUAL(sums.frees, HG_BLOCK_FRACTION);
    CHECK_EQUAL(sums.bytes_allocated, 150);
    CHECK_EQUAL(sums.bytes_freed, 100);
    CHECK_EQUAL(hg_site_sums_live_bytes(&sums), 50);
    CHECK_EQUAL(hg_site_sums_live_blocks(&sums), HG_BLOCK_FRACTION);
}

static void live_is_never_negative(void) {
    struct hg_site_sums sums = {.frees = 1, .bytes_freed = 8};
    CHECK_EQUAL(hg_site_sums_live_bytes(&sums), 0);
    CHECK_EQUAL(hg_site_sums_live_blocks(&sums), 0);
}

static void samples_are_fractions(void) {
    struct hg_thread *thread = begin_events(4);
    uintptr_t frames[] = {0x1000};
    uint32_t site = hg_stacks_sampled(hg_stacks_site(frames, 1, 0, 0), 12, 0);
    struct hg_counters *line = hg_sites_line(&thread->counters, site);
    line->allocations = 5 * HG_BLOCK_FRACTION / 2;
    CHECK_EQUAL(hg_site_sums_of(site).allocations, 5 * HG_BLOCK_FRACTION / 2);
    CHECK_EQUAL(hg_site_sums_whole_blocks(5 * HG_BLOCK_FRACTION / 2), 3);
    CHECK_EQUAL(hg_site_sums_unscaled(site).allocations, 5 * HG_BLOCK_FRACTION / 2);
}

static void annotated_blocks_are_none(void) {
    struct hg_thread *thread = begin_events(4);
    uintptr_t frames[] = {0x1000};
    uint32_t own = hg_stacks_site(frames, 1, 0, 0), site = hg_stacks_annotated(own, 0);
    CHECK(site != own && hg_stacks_annotated(own, 0) == site);
    CHECK(hg_stacks_is_annotated(site) && !hg_stacks_is_annotated(own));
    CHECK_EQUAL(hg_stacks_sample_shift(site), 0);
    add_to(thread, site, 100, true);
    add_to(thread, own, 7, true);
    CHECK_EQUAL(hg_site_sums_of(site).bytes_allocated, 0);
    CHECK_EQUAL(hg_site_sums_of(own).bytes_allocated, 7);
}

static void frames_can_be_read(void) {
    begin_events(4);
    uintptr_t frames[] = {0x1000, 0x2000};
    uint32_t site = hg_stacks_site(frames, 2, HG_PSEUDO_NO_RULE, 0);
    struct hg_node inner = hg_stacks_node(hg_stacks_innermost(site));
    CHECK_EQUAL(inner.address, 0x1000);
    struct hg_node outer = hg_stacks_node(inner.parent);
    CHECK_EQUAL(outer.address, 0x2000);
    CHECK_EQUAL(hg_stacks_node(outer.parent).address, HG_PSEUDO_NO_RULE);
    CHECK_EQUAL(hg_stacks_innermost(site + 1), 0);
    CHECK_EQUAL(hg_stacks_node(1u << 23).address, 0);
    CHECK_EQUAL(hg_stacks_innermost(HG_MAX_SITES - 1), 0);
}

int main(void) {
    reset_options();
    RUN(sums_shards);
    RUN(live_is_never_negative);
    RUN(samples_are_fractions);
    RUN(annotated_blocks_are_none);
    RUN(frames_can_be_read);
    return 0;
}
