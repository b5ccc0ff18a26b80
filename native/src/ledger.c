#include "ledger.h"

#include "hot.h"
#include "large.h"
#include "mode.h"
#include "real.h"
#include "recording.h"
#include "sys.h"

#define UPPER_ENTRIES (1u << 15)
#define LOWER_ENTRIES (1u << HG_LEDGER_LOWER_BITS)
#define LEAF_BYTES (HG_LEDGER_RECORDS * sizeof(uint64_t))

_Static_assert(HG_HUGE % LEAF_BYTES == 0, "a group is whole leaves");
_Static_assert(HG_STEP > HG_LEDGER_PART_MASK, "leaves are aligned to a step");
_Static_assert(1u << HG_LEDGER_RECORDS_SHIFT == HG_LEDGER_RECORDS, "records per leaf");

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
    g_ledger.leaves = g_ledger.parts = 0;
    g_ledger.group = (struct hg_group){0};
    bool is_glibc = granule_shift == HG_LEDGER_USUAL_SHIFT && g_real_has_size_word;
    g_is_short_way_open = IS_SHORT_WAY_BUILT && is_glibc;
    g_is_other_way_open = IS_SHORT_WAY_BUILT && granule_shift == HG_LEDGER_OTHER_SHIFT;
    g_ledger.upper = hg_sys_map_private(UPPER_ENTRIES * sizeof *g_ledger.upper);
    return g_ledger.upper && hg_large_start();
}

static uint32_t leaf_shift(void) { return g_ledger.granule_shift + HG_LEDGER_RECORDS_SHIFT; }

static bool is_coverable(uintptr_t address) { return !(address >> HG_ADDRESS_BITS); }

/* The word of the leaf that covers `address`; NULL when its lower table does not exist. */
static uintptr_t *leaf_word(uintptr_t address) {
    uintptr_t leaf = address >> leaf_shift();
    uintptr_t *lower = hg_load_acquire(&g_ledger.upper[leaf >> HG_LEDGER_LOWER_BITS]);
    return lower ? &lower[leaf & (LOWER_ENTRIES - 1)] : NULL;
}

static bool add_lower(uintptr_t address) {
    uintptr_t **word = &g_ledger.upper[address >> leaf_shift() >> HG_LEDGER_LOWER_BITS];
    uintptr_t *made = hg_sys_map_private(LOWER_ENTRIES * sizeof *made), *none = NULL;
    if (!made) return false;
    if (!hg_swap(word, &none, made)) hg_sys_unmap(made, LOWER_ENTRIES * sizeof *made);
    return true;
}

/* A heap that has grown beyond a few leaves, and filled them, goes on so: its further leaves come in
 * groups. */
#define LEAVES_ALONE 8u
#define ALL_PARTS HG_LEDGER_PART_MASK

static bool is_dense(void) {
    return hg_load(&g_ledger.leaves) >= LEAVES_ALONE &&
           hg_load(&g_ledger.parts) >= LEAVES_ALONE * 16 * 3 / 4;
}

/* The word of a new leaf for `base`; 0 when there is no room. */
static uintptr_t make_leaf(uintptr_t base) {
    uint32_t of = HG_DOMAIN_HEAP + HG_LEAF_GRANULE * g_ledger.granule_shift;
    void *made = is_dense() ? hg_group_piece(&g_ledger.group, LEAF_BYTES) : NULL;
    if (made && hg_recording_list(HG_KIND_LEDGER, of, base, made, LEAF_BYTES)) {
        return (uintptr_t)made | ALL_PARTS;
    }
    return (uintptr_t)hg_recording_extent(HG_KIND_LEDGER, of, base, LEAF_BYTES);
}

static bool add_leaf(uintptr_t address, uintptr_t *word) {
    uintptr_t base = address >> leaf_shift() << leaf_shift(), none = 0, made = make_leaf(base);
    if (!made) return false;
    hg_add_shared(&g_ledger.leaves, 1);
    if (!hg_swap(word, &none, made)) hg_recording_drop((void *)(made & ~HG_LEDGER_PART_MASK));
    return true;
}

/* Make the record of `address` writable; NULL when there is no room. */
static HG_NOINLINE uint64_t *reserve_slow(uintptr_t address) {
    if (!leaf_word(address) && !add_lower(address)) return NULL;
    uintptr_t *word = leaf_word(address);
    if (!hg_load_acquire(word) && !add_leaf(address, word)) return NULL;
    uint32_t index = hg_ledger_index_by(g_ledger.granule_shift, address);
    uint64_t *leaf = (uint64_t *)(hg_load_acquire(word) & ~HG_LEDGER_PART_MASK);
    uint32_t part = index / HG_LEDGER_PART_RECORDS;
    uint64_t *start = leaf + (size_t)part * HG_LEDGER_PART_RECORDS;
    if (hg_load(word) >> part & 1) return leaf + index;
    if (!hg_recording_reserve(start, LEAF_BYTES / 16)) return NULL;
    __atomic_fetch_or(word, (uintptr_t)1 << part, __ATOMIC_ACQ_REL);
    hg_add_shared(&g_ledger.parts, 1);
    return leaf + index;
}

/* Whether a granule's record tells of another block than the one at `address`: next to a tiny one. */
static bool is_neighbour(uintptr_t address, uint64_t word) {
    return HG_UNLIKELY(g_ledger.least) && !hg_ledger_is_at(HG_LEDGER_OTHER_SHIFT, address, word);
}

/* What still stands in the shadow although the allocator hands the address out: a block whose free
 * went unseen. A tiny block's neighbour is none of that. */
HG_INLINE struct hg_block replace(uint64_t *record, uintptr_t address, uint64_t size) {
    uint64_t old = record ? hg_load(record) : 0;
    if (HG_LIKELY(!old)) return (struct hg_block){0};
    if (size < g_ledger.least && is_neighbour(address, old)) return (struct hg_block){0};
    hg_store(record, 0);
    return hg_ledger_unpack(old);
}

static HG_NOINLINE bool put_large(uintptr_t address, struct hg_block block,
                                  struct hg_block *replaced) {
    if (!replaced->site) *replaced = hg_large_take(address);
    return hg_large_put(address, block);
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
        *replaced = hg_large_take(address);
    if (HG_UNLIKELY(!record) && !(record = reserve_slow(address))) return false;
    hg_store(record, hg_ledger_pack(address, block));
    return true;
}

struct hg_block hg_ledger_take(uintptr_t address) {
    uint64_t *record = hg_ledger_find(address);
    uint64_t old = record ? hg_load(record) : 0;
    if (HG_UNLIKELY(!old || is_neighbour(address, old))) return hg_large_take(address);
    hg_store(record, 0);
    return hg_ledger_unpack(old);
}

static void see_leaf(uintptr_t leaf, void (*see)(void *, struct hg_block), void *to) {
    const uint64_t *records = (const uint64_t *)(leaf & ~HG_LEDGER_PART_MASK);
    for (uint32_t i = 0; i < HG_LEDGER_RECORDS; i++) {
        if (!(leaf >> (i / HG_LEDGER_PART_RECORDS) & 1)) {
            i += HG_LEDGER_PART_RECORDS - 1;
            continue;
        }
        uint64_t word = hg_load(&records[i]);
        if (word) see(to, hg_ledger_unpack(word));
    }
}

void hg_ledger_each(void (*see)(void *to, struct hg_block block), void *to) {
    for (uint32_t i = 0; i < UPPER_ENTRIES; i++) {
        uintptr_t *lower = hg_load_acquire(&g_ledger.upper[i]);
        for (uint32_t j = 0; lower && j < LOWER_ENTRIES; j++) {
            uintptr_t leaf = hg_load_acquire(&lower[j]);
            if (leaf) see_leaf(leaf, see, to);
        }
    }
    hg_large_each(see, to);
}
