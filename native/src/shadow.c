#include "shadow.h"

#include "recording.h"
#include "sys.h"

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
