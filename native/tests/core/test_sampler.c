/* The choice of samples: distances against the exact logarithm, chances against 1 - exp(-s/interval),
 * estimates against the truth over thousands of runs, all with fixed seeds. */
#include "sampler.h"

#include <math.h>

#include "test.h"

static void distances(void) {
    struct random r = random_start(1);
    for (uint32_t i = 0; i < 200000; i++) {
        uint64_t random = random_next(&r) >> random_below(&r, 60);
        uint32_t shift = 8 + (uint32_t)random_below(&r, 23);
        long double interval = ldexpl(1, (int)shift);
        long double exact = -logl(ldexpl((long double)(random | 1), -64)) * interval;
        long double got = (long double)hg_sampler_distance(random, shift);
        /* Rounded down to a byte; too long by less than 5e-8 of the interval. */
        CHECK(got > exact - 1.001L && got < exact + 5e-8L * interval + 1e-6L);
    }
}

static struct hg_sampler start(uint64_t seed, uint32_t shift) {
    struct hg_sampler sampler;
    hg_sampler_start(seed);
    hg_sampler_use(shift);
    hg_sampler_attach(&sampler);
    return sampler;
}

/* As the hooks do it: count, and look only when told to. */
static uint32_t offer(struct hg_sampler *sampler, uint64_t size) {
    if (!hg_sampler_count(sampler, size)) return HG_SAMPLER_PASS;
    return hg_sampler_take(sampler, size);
}

/* How often a size is taken, on its own and in a crowd of others, against its chance. */
static void chances(void) {
    static const uint64_t sizes[] = {0, 1, 16, 100, 1000, 4096, 10000, 18000, 100000};
    enum { SIZES = sizeof sizes / sizeof *sizes, TRIES = 400000 };
    struct random r = random_start(2);
    struct hg_sampler sampler = start(7, 12);
    uint64_t offered[SIZES] = {0}, taken[SIZES] = {0};
    for (uint32_t i = 0; i < SIZES * TRIES / 4; i++) {
        uint64_t which = random_below(&r, SIZES);
        offered[which]++;
        taken[which] += offer(&sampler, sizes[which]) != HG_SAMPLER_PASS;
    }
    for (uint32_t i = 0; i < SIZES; i++) {
        long double p = -expm1l(-(long double)(sizes[i] ? sizes[i] : 1) / 4096);
        if (sizes[i] >= hg_weight_certain(12)) p = 1;
        long double error = sqrtl(p * (1 - p) * (long double)offered[i]);
        CHECK(fabsl((long double)taken[i] - p * (long double)offered[i]) <= 4.5L * error);
    }
}

/* One run of a mixture: the estimate of its bytes and blocks, and their stated variances. */
struct estimate {
    long double bytes, blocks, bytes_variance, blocks_variance;
};

static struct estimate estimate(uint64_t seed, uint32_t shift, uint32_t count,
                                uint64_t (*size_of)(uint32_t)) {
    struct hg_sampler sampler = start(seed, shift);
    struct estimate e = {0};
    long double unit = ldexpl(1, (int)shift - 8);
    for (uint32_t i = 0; i < count; i++) {
        if (offer(&sampler, size_of(i)) == HG_SAMPLER_PASS) continue;
        struct hg_weight w = hg_weight_of(size_of(i), shift);
        e.bytes += w.bytes;
        e.blocks += (long double)w.blocks / HG_BLOCK_FRACTION;
        e.bytes_variance += w.bytes_variance * unit * unit;
        e.blocks_variance += ldexpl(w.blocks_variance[0], -16) + ldexpl(w.blocks_variance[1], 48);
    }
    return e;
}

static uint64_t small(uint32_t i) { return 8 + i % 5; }
static uint64_t middling(uint32_t i) { return 500 + i % 9000; }
static uint64_t large(uint32_t i) { return 15000 + i * 37 % 40000; }
static uint64_t mixed(uint32_t i) { return i % 100 == 0 ? 60000 : i % 10 == 0 ? 3000 : i % 64; }

/* No bias: the mean over many runs is within its own error of the truth. And the stated variance is
 * the true one: the mean of the squared errors. */
static void check_estimates(uint32_t count, uint64_t (*size_of)(uint32_t), uint32_t runs) {
    long double truth = 0, bytes = 0, square = 0, stated = 0, blocks = 0, blocks_stated = 0;
    uint32_t covered = 0;
    for (uint32_t i = 0; i < count; i++) truth += size_of(i);
    for (uint32_t run = 1; run <= runs; run++) {
        struct estimate e = estimate(run, 14, count, size_of);
        bytes += e.bytes / runs;
        blocks += e.blocks / runs;
        square += (e.bytes - truth) * (e.bytes - truth) / runs;
        stated += e.bytes_variance / runs;
        blocks_stated += e.blocks_variance / runs;
        covered += fabsl(e.bytes - truth) <= 1.96L * sqrtl(e.bytes_variance) + 0.5L;
    }
    CHECK(fabsl(bytes - truth) <= 4 * sqrtl(stated / runs) + 1e-3L * truth);
    CHECK(fabsl(blocks - count) <= 4 * sqrtl(blocks_stated / runs) + 1e-3L * count);
    CHECK(stated == 0 || fabsl(square / stated - 1) < 6 * sqrtl(2.0L / runs));
    /* 95 % stated; a binomial's four standard deviations, and what few samples take off. */
    CHECK(covered >= runs * (0.95L - 4 * sqrtl(0.05L * 0.95L / runs) - 0.015L));
}

static void estimates(void) {
    uint32_t runs = SANITIZED ? 300 : 2000;
    check_estimates(200000, small, runs / 4);
    check_estimates(2000, middling, runs);
    check_estimates(500, large, runs);
    check_estimates(10000, mixed, runs);
}

/* Looks in between take the same blocks, and come as often as they are asked for. */
static void looks_change_nothing(void) {
    enum { COUNT = 300000, APART = 1 << 12 };
    static uint32_t taken[COUNT];
    uint64_t since_look = 0;
    struct hg_sampler sampler = start(11, 14);
    for (uint32_t i = 0; i < COUNT; i++) taken[i] = offer(&sampler, mixed(i));
    hg_sampler_look_after(APART);
    sampler = start(11, 14);
    CHECK_EQUAL(offer(&sampler, mixed(0)), taken[0]); /* draws */
    for (uint32_t i = 1; i < COUNT; i++) {
        bool looks = hg_sampler_count(&sampler, mixed(i));
        since_look = looks ? 0 : since_look + mixed(i) + !mixed(i);
        CHECK(since_look <= APART);
        CHECK_EQUAL(looks ? hg_sampler_take(&sampler, mixed(i)) : HG_SAMPLER_PASS, taken[i]);
    }
    hg_sampler_look_after(0);
}

/* The interval goes to and fro: what is left of a distance is drawn anew, and no block has another
 * chance than its own. */
static void changes_leave_no_trace(void) {
    enum { RUNS = 400, COUNT = 20000 };
    long double truth = 0, bytes = 0, variance = 0;
    for (uint32_t i = 0; i < COUNT; i++) truth += mixed(i);
    hg_sampler_look_after(1 << 10);
    for (uint32_t run = 1; run <= RUNS; run++) {
        struct hg_sampler sampler = start(run, 20);
        for (uint32_t i = 0; i < COUNT; i++) {
            if (i % 1000 == 0) hg_sampler_use(i / 1000 % 2 ? 12 : 20);
            uint32_t shift = offer(&sampler, mixed(i));
            if (shift == HG_SAMPLER_PASS) continue;
            struct hg_weight w = hg_weight_of(mixed(i), shift);
            bytes += w.bytes;
            variance += ldexpl(w.bytes_variance, 2 * ((int)shift - 8));
        }
    }
    CHECK(fabsl(bytes / RUNS - truth) <= 4 * sqrtl(variance) / RUNS);
    hg_sampler_look_after(0);
}

/* It takes effect at the next look, however long the distance was. */
static void a_shorter_interval_is_soon_used(void) {
    hg_sampler_look_after(1 << 12);
    for (uint32_t seed = 1; seed < 100; seed++) {
        struct hg_sampler sampler = start(seed, 24);
        uint64_t looked = 0;
        offer(&sampler, 16);
        hg_sampler_use(12);
        for (; looked < 1 << 22 && sampler.shift != 12; looked += 16) offer(&sampler, 16);
        CHECK(looked <= 1 << 21); /* an eighth of the interval */
    }
    hg_sampler_look_after(0);
}

/* A failed allocation leaves the countdown where it was. */
static void failures(void) {
    struct hg_sampler sampler = start(3, 12);
    hg_sampler_take(&sampler, 1);
    int64_t before = sampler.left;
    CHECK(hg_sampler_count(&sampler, (size_t)1 << 62));
    hg_sampler_forget(&sampler, (size_t)1 << 62);
    CHECK_EQUAL(sampler.left, before);
}

static void exactly(void) {
    struct hg_sampler sampler = start(3, 0);
    for (uint32_t i = 0; i < 100; i++) CHECK_EQUAL(hg_sampler_take(&sampler, i), 0);
}

/* Threads draw different distances from one seed; the same seed draws the same. */
static void seeds(void) {
    struct hg_sampler a = start(5, 16), b, c;
    hg_sampler_attach(&b);
    c = start(5, 16);
    CHECK(a.random != b.random);
    CHECK_EQUAL(a.random, c.random);
}

int main(void) {
    RUN(distances);
    RUN(chances);
    RUN(estimates);
    RUN(looks_change_nothing);
    RUN(changes_leave_no_trace);
    RUN(a_shorter_interval_is_soon_used);
    RUN(failures);
    RUN(exactly);
    RUN(seeds);
    return 0;
}
