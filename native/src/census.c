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

static uint64_t blocks_of(struct hg_census *census, struct hg_block block) {
    uint32_t shift = hg_mode_is_light() ? hg_stacks_sample_shift(block.site) : 0;
    if (!shift) return HG_BLOCK_FRACTION;
    census->has_samples = true;
    return hg_weight_of(block.size, shift).blocks;
}

static void see(void *to, struct hg_block block) {
    struct count *count = to;
    uint64_t blocks = blocks_of(count->census, block);
    uint64_t age = hg_recorder_ticks_since(block.birth, count->now) << HG_TICK_SHIFT;
    count->census->sizes[size_class(block.size)] += blocks;
    count->census->ages[age_class(age)] += blocks;
}

void hg_census_take(struct hg_census *census, uint64_t now_ns) {
    *census = (struct hg_census){0};
    hg_ledger_each(see, &(struct count){census, now_ns});
}
