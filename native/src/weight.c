#include "weight.h"

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
