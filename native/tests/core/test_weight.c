/* Weights against the exact values, computed here with the C library's logarithms. */
#include "sampler.h"

#include <math.h>

#include "test.h"

static long double exact_weight(uint64_t size, uint32_t shift) {
    long double bytes = size ? size : 1;
    return 1 / -expm1l(-bytes / ldexpl(1, (int)shift));
}

static bool is_near(long double got, long double wanted, long double error) {
    return fabsl(got - wanted) <= error;
}

static long double variance_of(const struct hg_weight *w) {
    return ldexpl(w->blocks_variance[0], -16) + ldexpl(w->blocks_variance[1], 48);
}

/* Rounding to the format's units, and the arithmetic's own 2^-24 of w or of a block. */
static void check_weight(uint64_t size, uint32_t shift) {
    struct hg_weight w = hg_weight_of(size, shift);
    long double exact = exact_weight(size, shift), own = 4 * ldexpl(exact > 1 ? exact : 1, -24);
    long double fraction = HG_BLOCK_FRACTION, unit = ldexpl(1, (int)shift - 8);
    CHECK(is_near(w.blocks / fraction, exact, own + 0.5L / fraction));
    CHECK(is_near(w.bytes, exact * size, own * size + 0.5L));
    long double variance = exact * exact - exact;
    CHECK(is_near(variance_of(&w), variance, 2 * own * exact + ldexpl(1, -15)));
    long double bytes_variance = (long double)size * size * variance / (unit * unit);
    CHECK(is_near(w.bytes_variance, bytes_variance,
                  1 + 4 * own * exact * size * size / (unit * unit)));
}

static void all_sizes(void) {
    struct random r = random_start(1);
    for (uint32_t shift = HG_SAMPLE_SHIFT_LEAST; shift <= HG_SAMPLE_SHIFT_MOST; shift++) {
        uint64_t certain = hg_weight_certain(shift);
        for (uint64_t size = 0; size < 200 && size < certain; size++) check_weight(size, shift);
        for (uint32_t i = 0; i < 5000; i++) check_weight(random_below(&r, certain), shift);
        check_weight(certain - 1, shift);
    }
}

/* From 99 % on blocks stand for themselves, not before. */
static void certain_sizes(void) {
    for (uint32_t shift = HG_SAMPLE_SHIFT_LEAST; shift <= HG_SAMPLE_SHIFT_MOST; shift++) {
        uint64_t certain = hg_weight_certain(shift);
        CHECK(1 / exact_weight(certain, shift) >= 0.99L);
        CHECK(1 / exact_weight(certain - certain / 200, shift) < 0.99L);
        struct hg_weight w = hg_weight_of(certain, shift);
        CHECK_EQUAL(w.blocks, HG_BLOCK_FRACTION);
        CHECK_EQUAL(w.bytes, certain);
        CHECK_EQUAL(w.blocks_variance[0] | w.blocks_variance[1] | w.bytes_variance, 0);
    }
}

int main(void) {
    RUN(all_sizes);
    RUN(certain_sizes);
    return 0;
}
