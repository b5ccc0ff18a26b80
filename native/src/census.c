#include "census.h"

#include "ledger.h"
#include "mode.h"
#include "recorder.h"
#include "stacks.h"
#include "weight.h"

struct count {
    struct hg_census *census;
    uint64_t now;
};

static uint32_t size_class(uint64_t size) {
    uint32_t width = hg_bit_width(size);
    if (width < 3) return 0;
    return width - 2 < HG_CENSUS_SIZES ? width - 2 : HG_CENSUS_SIZES - 1;
}

static uint32_t age_class(uint64_t age_ns) {
    uint64_t limit = 1000000000;
    uint32_t class = 0;
    for (; class + 1 < HG_CENSUS_AGES && age_ns >= limit; class++) limit *= 10;
    return class;
}

static void see(void *to, struct hg_block block) {
    struct count *count = to;
    struct hg_census *census = count->census;
    uint64_t age_ns = hg_recorder_ticks_since(block.birth, count->now) << HG_TICK_SHIFT;
    uint32_t size = size_class(block.size), age = age_class(age_ns);
    uint32_t shift = hg_mode_is_light() ? hg_stacks_sample_shift(block.site) : 0;
    uint64_t blocks = shift ? hg_weight_of(block.size, shift).blocks : HG_BLOCK_FRACTION;
    census->sizes[size] += blocks;
    census->ages[age] += blocks;
    if (!shift) return;
    struct hg_variance variance = hg_estimate_of_block(block.size, shift);
    hg_estimate_add(&census->size_variances[size], &variance);
    hg_estimate_add(&census->age_variances[age], &variance);
    census->has_samples = true;
}

void hg_census_take(struct hg_census *census, uint64_t now_ns) {
    *census = (struct hg_census){0};
    hg_ledger_each(see, &(struct count){census, now_ns});
}
