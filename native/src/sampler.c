#include "sampler.h"

#include "clock.h"
#include "sys.h"

/* ---- weight ------------------------------------------------------------------------------------ */

#define ONE_SHIFT 24u
#define ONE (UINT64_C(1) << ONE_SHIFT)

/* coth(x/2) for x = bytes / 2^shift up to 1/4, by its series: 2/x + x/6 - x^3/360 + ... */
static uint64_t small_coth(uint64_t bytes, uint32_t shift) {
    uint64_t x = bytes << ONE_SHIFT >> shift;
    uint64_t cube = (x * x >> ONE_SHIFT) * x >> ONE_SHIFT;
    return (UINT64_C(2) << shift << ONE_SHIFT) / bytes + x / 6 - cube / 360;
}

/* w = (1 + coth(x/2)) / 2, and coth(2y) = (coth(y) + 1/coth(y)) / 2: halve x until the series is
 * good, then double back. */
static uint64_t weight(uint64_t bytes, uint32_t shift) {
    uint32_t halvings = 0;
    if (bytes >= hg_weight_certain(shift)) return ONE;
    while (bytes << 2 > UINT64_C(1) << (shift + halvings)) halvings++;
    uint64_t coth = small_coth(bytes, shift + halvings);
    for (; halvings; halvings--) coth = (coth + (UINT64_C(1) << 2 * ONE_SHIFT) / coth) / 2;
    return (ONE + coth) / 2;
}

struct hg_weight hg_weight_of(uint64_t size, uint32_t shift) {
    uint64_t w = weight(size ? size : 1, shift), half = ONE / 2;
    if (w == ONE) return (struct hg_weight){HG_BLOCK_FRACTION, size, {0, 0}, 0};
    unsigned __int128 variance = (unsigned __int128)w * (w - ONE) >> 32;
    /* In 1/256ths of the interval: what the block stands for, and the block. */
    uint64_t unit_shift = shift - 8;
    uint64_t stands_for = w * size >> unit_shift, is = size << ONE_SHIFT >> unit_shift;
    unsigned __int128 square = (unsigned __int128)stands_for * (stands_for - is);
    return (struct hg_weight){
        .blocks = (w + ONE / HG_BLOCK_FRACTION / 2) / (ONE / HG_BLOCK_FRACTION),
        .bytes = (w * size + half) >> ONE_SHIFT,
        .blocks_variance = {(uint64_t)variance, (uint64_t)(variance >> 64)},
        .bytes_variance = (uint64_t)((square + ((unsigned __int128)1 << 47)) >> 48),
    };
}

/* ---- sampler ----------------------------------------------------------------------------------- */

#define LOG_BITS 24u
#define LN2 UINT64_C(2977044472) /* ln 2 * 2^32 */

static struct {
    uint32_t shift;
    uint32_t threads;
    uint64_t seed;
    uint64_t look_after; /* bytes; 0: looks have no other reason than samples */
    struct hg_sampler_range range;
} g_sampling;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void hg_sampler_use(uint32_t shift) {
    struct hg_sampler_range *range = &g_sampling.range;
    hg_store(&g_sampling.shift, shift);
    if (!shift) return;
    if (!range->shortest || shift < range->shortest) hg_store(&range->shortest, shift);
    if (shift > range->longest) hg_store(&range->longest, shift);
}

struct hg_sampler_range hg_sampler_range(void) {
    const struct hg_sampler_range *range = &g_sampling.range;
    return (struct hg_sampler_range){hg_load(&range->shortest), hg_load(&range->longest)};
}

uint32_t hg_sampler_shift(void) { return hg_load(&g_sampling.shift); }

void hg_sampler_look_after(uint64_t bytes) { g_sampling.look_after = bytes; }

void hg_sampler_start(uint64_t seed) {
    uint64_t now = hg_clock_precise();
    g_sampling.threads = 0;
    g_sampling.range = (struct hg_sampler_range){0};
    g_sampling.seed = seed ? mix(seed) : mix(mix(now) + hg_sys_pid());
}

void hg_sampler_attach(struct hg_sampler *sampler) {
    uint64_t number = hg_add_shared(&g_sampling.threads, 1);
    *sampler = (struct hg_sampler){.random = mix(g_sampling.seed + mix(number))};
}

/* -log2(random / 2^64) in 1/2^24ths: the leading zeros, then bit by bit by squaring. */
static uint64_t bits_of(uint64_t random) {
    uint32_t zeros = (uint32_t)__builtin_clzll(random | 1);
    uint64_t mantissa = (random | 1) << zeros, log = 0;
    for (uint32_t i = 0; i < LOG_BITS; i++) {
        uint64_t square = (uint64_t)((unsigned __int128)mantissa * mantissa >> 64);
        bool is_two = square >> 63;
        log = log << 1 | is_two;
        mantissa = is_two ? square : square << 1;
    }
    return ((uint64_t)(zeros + 1) << LOG_BITS) - log;
}

uint64_t hg_sampler_distance(uint64_t random, uint32_t shift) {
    uint64_t nats = bits_of(random) * LN2 >> LOG_BITS; /* in 1/2^32ths, below 2^38 */
    return nats >> (32 - shift);
}

/* The most that is counted down without a look. */
static uint64_t longest_part(uint32_t shift) {
    /* Never the size from which on every block is taken: those must be looked at. */
    uint64_t part = hg_weight_certain(shift) - 1, after = g_sampling.look_after;
    if (!after) return part;
    /* However long the interval is, there are few looks to a sample. */
    if (after < UINT64_C(1) << shift >> 3) after = UINT64_C(1) << shift >> 3;
    return after < part ? after : part;
}

static void draw(struct hg_sampler *sampler, uint32_t shift) {
    sampler->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t distance = hg_sampler_distance(mix(sampler->random), shift);
    uint64_t first = longest_part(shift);
    if (first > distance) first = distance;
    sampler->shift = shift;
    sampler->rest = distance - first;
    hg_store(&sampler->left, (int64_t)first);
}

/* Go on with the rest of a long distance, where the last part was exceeded. */
static void go_on(struct hg_sampler *sampler) {
    uint64_t part = longest_part(sampler->shift) + (uint64_t)-sampler->left;
    if (part > sampler->rest) part = sampler->rest;
    sampler->rest -= part;
    hg_add_own(&sampler->left, (int64_t)part);
}

uint32_t hg_sampler_take(struct hg_sampler *sampler, size_t size) {
    uint32_t shift = hg_sampler_shift();
    if (!shift) {
        hg_sampler_forget(sampler, size);
        return 0;
    }
    bool is_first = !sampler->shift;
    if (is_first) draw(sampler, shift);
    if (is_first || sampler->left >= 0) hg_sampler_count(sampler, size);
    uint32_t drawn_for = sampler->shift;
    if (size >= hg_weight_certain(drawn_for)) {
        hg_sampler_forget(sampler, size);
        return drawn_for;
    }
    if (sampler->left < 0 && sampler->rest) go_on(sampler);
    bool is_hit = sampler->left < 0;
    if (is_hit || drawn_for != shift) draw(sampler, shift);
    return is_hit ? drawn_for : HG_SAMPLER_PASS;
}

void hg_sampler_forget(struct hg_sampler *sampler, size_t size) {
    if (sampler->left < 0) hg_add_own(&sampler->left, (int64_t)(size + !size));
}
