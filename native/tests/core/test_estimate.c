/* Standard errors: against floating point, and of sites that several threads count at. */
#include "site_sums.h"

#include <string.h>

#include "fixture.h"
#include "recording.h"
#include "sampler.h"
#include "share.h"
#include "stacks.h"
#include "test.h"

static long double root_of(long double square) {
    long double low = 0, high = 1.0e19L;
    for (uint32_t i = 0; i < 200; i++) {
        long double middle = (low + high) / 2;
        if (middle * middle <= square) low = middle;
        else high = middle;
    }
    return low;
}

static void check_close(uint64_t found, long double expected) {
    long double off = found > expected ? found - expected : expected - found;
    CHECK(off <= 0.51L + expected * 1.0e-6L);
}

static void roots_are_rounded(void) {
    struct random r = random_start(7);
    for (uint64_t i = 0; i < 3000; i++) {
        struct hg_variance variance = {.bytes = i};
        check_close(hg_estimate_bytes_error(&variance), root_of((long double)i));
        variance.bytes = (unsigned __int128)random_of_bits(&r, 64) << random_below(&r, 60);
        check_close(hg_estimate_bytes_error(&variance), root_of((long double)variance.bytes));
    }
}

/* n blocks of 1/8 of the interval: each adds w (w - 1), and s^2 times that. */
static void a_sum_over_blocks(void) {
    for (uint32_t shift = HG_SAMPLE_SHIFT_LEAST; shift <= HG_SAMPLE_SHIFT_MOST; shift++) {
        uint64_t size = UINT64_C(1) << (shift - 3);
        struct hg_variance one = hg_estimate_of_block(size, shift), sum = {0};
        for (uint32_t i = 0; i < 100; i++) hg_estimate_add(&sum, &one);
        const long double w = 8.510415L; /* 1 / (1 - exp(-1/8)) */
        check_close(hg_estimate_blocks_error(&sum), root_of(100 * w * (w - 1)));
        long double expected = (long double)size * root_of(100 * w * (w - 1));
        long double found = hg_estimate_bytes_error(&sum);
        CHECK(found > expected * 0.99L && found < expected * 1.01L);
    }
}

static void large_blocks_have_none(void) {
    struct hg_variance variance = hg_estimate_of_block(UINT64_C(1) << 30, 20);
    CHECK_EQUAL(hg_estimate_bytes_error(&variance), 0);
    CHECK_EQUAL(hg_estimate_blocks_error(&variance), 0);
}

/* What is live: allocated less freed, never below nothing. */
static void a_site_by_its_samples(void) {
    struct hg_thread *thread = begin_events(5);
    uintptr_t frames[] = {0x1000};
    uint32_t exact = hg_stacks_site(frames, 1, 0, 0);
    uint32_t site = hg_stacks_sampled(exact, 12, 0);
    struct hg_variance none = hg_estimate_of_site(site);
    CHECK_EQUAL(hg_estimate_bytes_error(&none), 0);
    CHECK(hg_share_start_shard(thread));
    struct hg_samples *samples = hg_table_slot(&thread->samples, site);
    CHECK(samples != NULL);
    samples->allocated_blocks_variance[0] = UINT64_C(125) << 16;
    samples->freed_blocks_variance[0] = UINT64_C(25) << 16;
    samples->allocated_bytes_variance = 18;
    samples->freed_bytes_variance = 2;
    struct hg_variance variance = hg_estimate_of_site(site);
    CHECK_EQUAL(hg_estimate_blocks_error(&variance), 10);
    CHECK_EQUAL(hg_estimate_bytes_error(&variance), 4 * 16); /* in 4096 / 256 bytes */
    samples->freed_bytes_variance = 20;
    variance = hg_estimate_of_site(site);
    CHECK_EQUAL(hg_estimate_bytes_error(&variance), 0);
    variance = hg_estimate_of_site(exact);
    CHECK_EQUAL(hg_estimate_blocks_error(&variance), 0);
}

static char g_printed[100];

static bool keep(void *unused, const char *text, size_t length) {
    (void)unused;
    memcpy(g_printed, text, length);
    g_printed[length] = 0;
    return true;
}

static const char *printed_interval(void) {
    char buffer[100];
    struct hg_printer printer = {.buffer = buffer, .size = sizeof buffer, .send = keep};
    hg_estimate_print_interval(&printer);
    CHECK(hg_print_flush(&printer));
    return g_printed;
}

static void intervals_are_told_from_the_shortest_to_the_longest(void) {
    begin_events(5);
    hg_sampler_start(1);
    hg_sampler_use(12);
    CHECK_TEXT(printed_interval(), "sampled once in 4096 bytes");
    g_header->budget_ppm = 30000;
    hg_sampler_use(0);
    CHECK_TEXT(printed_interval(), "sampled in part, once in 4096 bytes");
    hg_sampler_use(20);
    hg_sampler_use(13);
    CHECK_TEXT(printed_interval(), "sampled in part, once in 4096 to 1048576 bytes");
    hg_sampler_start(1);
    hg_sampler_use(13);
    CHECK_TEXT(printed_interval(), "sampled in part, once in 8192 bytes");
}

int main(void) {
    reset_options();
    RUN(roots_are_rounded);
    RUN(a_sum_over_blocks);
    RUN(large_blocks_have_none);
    RUN(a_site_by_its_samples);
    RUN(intervals_are_told_from_the_shortest_to_the_longest);
    return 0;
}
