#include "ledger.h"

#include "front.h"
#include "large.h"
#include "mode.h"
#include "real.h"
#include "recording.h"
#include "sys.h"

/* ---- shadow ------------------------------------------------------------------------------------ */

#define LOWER_ENTRIES (1u << HG_SHADOW_LOWER_BITS)
#define ALL_PARTS HG_SHADOW_PART_MASK

_Static_assert(HG_STEP > HG_SHADOW_PART_MASK, "leaves are aligned to a step");

static size_t leaf_bytes(const struct hg_shadow *shadow) { return (size_t)1 << shadow->shape.leaf; }

static size_t part_bytes(const struct hg_shadow *shadow) {
    return leaf_bytes(shadow) / HG_SHADOW_PARTS;
}

static uint32_t upper_entries(const struct hg_shadow *shadow) {
    return 1u << (HG_ADDRESS_BITS - HG_SHADOW_LOWER_BITS - hg_shadow_reach(shadow->shape));
}

bool hg_shadow_start(struct hg_shadow *shadow, enum hg_kind kind, struct hg_shadow_shape shape,
                     uint32_t alone) {
    *shadow = (struct hg_shadow){.kind = kind, .shape = shape, .alone = alone};
    shadow->upper = hg_sys_map_private(upper_entries(shadow) * sizeof *shadow->upper);
    return shadow->upper;
}

static uintptr_t leaf_number(const struct hg_shadow *shadow, uintptr_t address) {
    return address >> hg_shadow_reach(shadow->shape);
}

/* The word of the leaf that covers `address`; NULL when its lower table does not exist. */
static uintptr_t *leaf_word(const struct hg_shadow *shadow, uintptr_t address) {
    uintptr_t leaf = leaf_number(shadow, address);
    uintptr_t *lower = hg_load_acquire(&shadow->upper[leaf >> HG_SHADOW_LOWER_BITS]);
    return lower ? &lower[leaf & (LOWER_ENTRIES - 1)] : NULL;
}

static bool add_lower(struct hg_shadow *shadow, uintptr_t address) {
    uintptr_t **word = &shadow->upper[leaf_number(shadow, address) >> HG_SHADOW_LOWER_BITS];
    uintptr_t *made = hg_sys_map_private(LOWER_ENTRIES * sizeof *made), *none = NULL;
    if (!made) return false;
    if (!hg_swap(word, &none, made)) hg_sys_unmap(made, LOWER_ENTRIES * sizeof *made);
    return true;
}

/* Whether the part that covers `address` holds any record. */
static bool holds_any(const struct hg_shadow *shadow, uintptr_t address) {
    const uint64_t *record =
        hg_shadow_find(shadow, address & ~(hg_shadow_part_reach(shadow->shape) - 1));
    for (size_t i = 0; record && i < part_bytes(shadow) / sizeof *record; i++) {
        if (hg_load(&record[i])) return true;
    }
    return false;
}

/* A heap that has grown beyond a few leaves, and filled them, goes on so beside what it has filled: its
 * further leaves come in groups. */
static bool is_dense(const struct hg_shadow *shadow, uintptr_t base) {
    uintptr_t reach = (uintptr_t)1 << hg_shadow_reach(shadow->shape);
    return hg_load(&shadow->leaves) >= shadow->alone &&
           hg_load(&shadow->parts) >= shadow->alone * HG_SHADOW_PARTS * 3 / 4 &&
           (holds_any(shadow, base - 1) || holds_any(shadow, base + reach));
}

/* The word of a new leaf for `base`; 0 when there is no room. */
static uintptr_t make_leaf(struct hg_shadow *shadow, uintptr_t base) {
    uint32_t of = HG_DOMAIN_HEAP + HG_LEAF_GRANULE * shadow->shape.granule;
    size_t bytes = leaf_bytes(shadow);
    void *made = is_dense(shadow, base) ? hg_group_piece(&shadow->group, bytes) : NULL;
    if (made && hg_recording_list(shadow->kind, of, base, made, bytes)) {
        return (uintptr_t)made | ALL_PARTS;
    }
    return (uintptr_t)hg_recording_extent(shadow->kind, of, base, bytes);
}

static bool add_leaf(struct hg_shadow *shadow, uintptr_t address, uintptr_t *word) {
    uintptr_t base = leaf_number(shadow, address) << hg_shadow_reach(shadow->shape), none = 0;
    uintptr_t made = make_leaf(shadow, base);
    if (!made) return false;
    hg_add_shared(&shadow->leaves, 1);
    if (!hg_swap(word, &none, made)) hg_recording_drop((void *)(made & ~HG_SHADOW_PART_MASK));
    return true;
}

void *hg_shadow_reserve(struct hg_shadow *shadow, uintptr_t address) {
    if (!leaf_word(shadow, address) && !add_lower(shadow, address)) return NULL;
    uintptr_t *word = leaf_word(shadow, address);
    if (!hg_load_acquire(word) && !add_leaf(shadow, address, word)) return NULL;
    uint8_t *leaf = (uint8_t *)(hg_load_acquire(word) & ~HG_SHADOW_PART_MASK);
    uint32_t offset = hg_shadow_offset(shadow->shape, address);
    uint32_t part = offset / (uint32_t)part_bytes(shadow);
    if (hg_load(word) >> part & 1) return leaf + offset;
    if (!hg_recording_reserve(leaf + part * part_bytes(shadow), part_bytes(shadow))) return NULL;
    __atomic_fetch_or(word, (uintptr_t)1 << part, __ATOMIC_ACQ_REL);
    hg_add_shared(&shadow->parts, 1);
    return leaf + offset;
}

static void see_leaf(const struct hg_shadow *shadow, uintptr_t leaf,
                     void (*see)(void *, const uint64_t *, size_t), void *to) {
    const uint8_t *start = (const uint8_t *)(leaf & ~HG_SHADOW_PART_MASK);
    for (uint32_t part = 0; part < HG_SHADOW_PARTS; part++) {
        if (!(leaf >> part & 1)) continue;
        const uint64_t *records = (const uint64_t *)(start + part * part_bytes(shadow));
        see(to, records, part_bytes(shadow) / sizeof *records);
    }
}

void hg_shadow_each(const struct hg_shadow *shadow,
                    void (*see)(void *to, const uint64_t *records, size_t words), void *to) {
    for (uint32_t i = 0; i < upper_entries(shadow); i++) {
        uintptr_t *lower = hg_load_acquire(&shadow->upper[i]);
        for (uint32_t j = 0; lower && j < LOWER_ENTRIES; j++) {
            uintptr_t leaf = hg_load_acquire(&lower[j]);
            if (leaf) see_leaf(shadow, leaf, see, to);
        }
    }
}

/* ---- ledger ------------------------------------------------------------------------------------ */

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
