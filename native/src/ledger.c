#include "ledger.h"

#include "hot.h"
#include "large.h"
#include "mode.h"
#include "real.h"
#include "recording.h"
#include "sys.h"

_Static_assert(HG_HUGE % (HG_LEDGER_RECORDS * sizeof(uint64_t)) == 0, "a group is whole leaves");
_Static_assert(HG_HUGE % (HG_MIDDLE_RECORDS * sizeof(struct hg_middle)) == 0, "likewise");

/* Leaves that do not come in a group: until what is left of the last group is little beside the heap. Of middle
 * blocks, a group covers 128 MiB. */
#define SMALL_LEAVES_ALONE 8u
#define MIDDLE_LEAVES_ALONE 10u
/* Parts of the shadow of small blocks that any block may have reserved. */
#define PARTS_FOR_ALL 4u

/* Test builds: every event takes the general way. */
#ifdef HG_NO_SHORT_WAY
#define IS_SHORT_WAY_BUILT false
#else
#define IS_SHORT_WAY_BUILT true
#endif

struct hg_ledger g_ledger;

bool hg_ledger_start(uint32_t granule_shift) {
    g_ledger.granule_shift = granule_shift;
    g_ledger.least = (uint32_t)hg_ledger_least(granule_shift);
    g_ledger.suspect = false;
    bool is_glibc = granule_shift == HG_LEDGER_USUAL_SHIFT && g_real_has_size_word;
    g_is_short_way_open = IS_SHORT_WAY_BUILT && is_glibc;
    g_is_other_way_open = IS_SHORT_WAY_BUILT && granule_shift == HG_LEDGER_OTHER_SHIFT;
    return hg_shadow_start(&g_ledger.small, HG_KIND_LEDGER, hg_ledger_small_shape(granule_shift),
                           SMALL_LEAVES_ALONE) &&
           hg_shadow_start(&g_ledger.middle, HG_KIND_MIDDLE, HG_LEDGER_MIDDLE_SHAPE,
                           MIDDLE_LEAVES_ALONE) &&
           hg_large_start();
}

static bool is_coverable(uintptr_t address) { return !(address >> HG_ADDRESS_BITS); }

/* Whether the part of the shadow of small blocks that covers `address` holds one that belongs there. */
static bool has_small(uintptr_t address) {
    uintptr_t start = address & ~(hg_ledger_part_bytes(g_ledger.granule_shift) - 1);
    const uint64_t *records = hg_ledger_find(start);
    for (uint32_t i = 0; records && i < HG_LEDGER_PART_RECORDS; i++) {
        uint64_t word = hg_load(&records[i]);
        if (word && hg_ledger_unpack(word).size < HG_MIDDLE_LEAST) return true;
    }
    return false;
}

/* Where small blocks are among middle ones their shadow is needed anyway, for both. What comes next in a heap is
 * like what is beside it. */
static bool is_mixed(uintptr_t address) {
    uintptr_t part = hg_ledger_part_bytes(g_ledger.granule_shift);
    return has_small(address - part) || has_small(address + part);
}

/* Whether a block shall stand among middle ones, no small block's record being reserved at its address. A few
 * parts cost little, and their records are found faster. */
static bool goes_to_middle(uintptr_t address, uint64_t size) {
    if (!hg_ledger_is_middle(size)) return false;
    if (hg_ledger_find_middle(address)) return true;
    return hg_load(&g_ledger.small.parts) >= PARTS_FOR_ALL && !is_mixed(address);
}

/* Whether a granule's record tells of another block than the one at `address`: next to a tiny one. */
static bool is_neighbour(uintptr_t address, uint64_t word) {
    return HG_UNLIKELY(g_ledger.least) && !hg_ledger_is_at(HG_LEDGER_OTHER_SHIFT, address, word);
}

/* What still stands among small blocks although the allocator hands the address out: a block whose free
 * went unseen. A tiny block's neighbour is none of that. */
HG_INLINE struct hg_block replace(uint64_t *record, uintptr_t address, uint64_t size) {
    uint64_t old = record ? hg_load(record) : 0;
    if (HG_LIKELY(!old)) return (struct hg_block){0};
    if (size < g_ledger.least && is_neighbour(address, old)) return (struct hg_block){0};
    hg_store(record, 0);
    return hg_ledger_unpack(old);
}

static struct hg_block take_middle(struct hg_middle *middle) {
    struct hg_block block = hg_ledger_unpack(hg_load(&middle->record));
    hg_store(&middle->record, 0);
    return block;
}

static bool holds(const struct hg_middle *middle, uintptr_t address) {
    return middle && hg_load(&middle->record) && hg_load(&middle->address) == address;
}

/* Likewise among middle blocks, of which no two start in one granule, and large ones. */
static HG_NOINLINE struct hg_block replace_elsewhere(uintptr_t address, uint64_t size) {
    struct hg_middle *middle = hg_ledger_find_middle(address);
    bool is_gone = middle && hg_load(&middle->record) && hg_ledger_is_middle(size);
    if (is_gone || holds(middle, address)) return take_middle(middle);
    return hg_large_take(address);
}

static HG_NOINLINE bool put_large(uintptr_t address, struct hg_block block,
                                  struct hg_block *replaced) {
    if (!replaced->site) *replaced = replace_elsewhere(address, block.size);
    return hg_large_put(address, block);
}

/* Where no small block's record was reserved. */
static HG_NOINLINE bool put_middle(uintptr_t address, struct hg_block block,
                                   struct hg_block *replaced) {
    struct hg_middle *middle = hg_ledger_find_middle(address);
    if (middle && hg_load(&middle->record)) *replaced = take_middle(middle);
    if (!middle && !(middle = hg_shadow_reserve(&g_ledger.middle, address))) return false;
    hg_store(&middle->address, address);
    hg_store_release(&middle->record, hg_ledger_pack(address, block));
    return true;
}

void hg_ledger_suspect(void) {
    hg_store(&g_is_short_way_open, false);
    hg_store(&g_is_other_way_open, false);
    hg_mode_generalise();
    hg_store(&g_ledger.suspect, true);
}

bool hg_ledger_put_apart(uintptr_t address, struct hg_block block, struct hg_block *replaced) {
    *replaced = replace(hg_ledger_find(address), address, block.size);
    return put_large(address, block, replaced);
}

bool hg_ledger_put(uintptr_t address, struct hg_block block, struct hg_block *replaced) {
    uint64_t *record = hg_ledger_find(address);
    *replaced = replace(record, address, block.size);
    if (HG_UNLIKELY(!hg_ledger_is_shadowed(block.size) || !is_coverable(address))) {
        return put_large(address, block, replaced);
    }
    if (HG_UNLIKELY(hg_load(&g_ledger.suspect)) && !replaced->site)
        *replaced = replace_elsewhere(address, block.size);
    if (HG_UNLIKELY(!record)) {
        if (goes_to_middle(address, block.size)) return put_middle(address, block, replaced);
        record = hg_shadow_reserve(&g_ledger.small, address);
        if (!record) return false;
    }
    hg_store(record, hg_ledger_pack(address, block));
    return true;
}

static HG_NOINLINE struct hg_block take_elsewhere(uintptr_t address) {
    struct hg_middle *middle = hg_ledger_find_middle(address);
    return holds(middle, address) ? take_middle(middle) : hg_large_take(address);
}

struct hg_block hg_ledger_take(uintptr_t address) {
    uint64_t *record = hg_ledger_find(address);
    uint64_t old = record ? hg_load(record) : 0;
    if (HG_UNLIKELY(!old || is_neighbour(address, old))) return take_elsewhere(address);
    hg_store(record, 0);
    return hg_ledger_unpack(old);
}

struct shown {
    void (*see)(void *to, struct hg_block block);
    void *to;
};

static void see_small(void *to, const uint64_t *records, size_t words) {
    const struct shown *shown = to;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = hg_load(&records[i]);
        if (word) shown->see(shown->to, hg_ledger_unpack(word));
    }
}

static void see_middle(void *to, const uint64_t *records, size_t words) {
    const struct shown *shown = to;
    const struct hg_middle *middle = (const struct hg_middle *)records;
    for (size_t i = 0; i < words * sizeof *records / sizeof *middle; i++) {
        uint64_t word = hg_load(&middle[i].record);
        if (word) shown->see(shown->to, hg_ledger_unpack(word));
    }
}

void hg_ledger_each(void (*see)(void *to, struct hg_block block), void *to) {
    struct shown shown = {see, to};
    hg_shadow_each(&g_ledger.small, see_small, &shown);
    hg_shadow_each(&g_ledger.middle, see_middle, &shown);
    hg_large_each(see, to);
}
