/* A shadow of the heap: a record for each granule of addresses, in leaves that are made where the heap is.
 *
 * A leaf is found through a two-level table. Of its 16 parts each is reserved when the first record in it is
 * needed; a heap that grows densely gets its further leaves in groups, whole. Lock-free. */
#ifndef HG_SHADOW_H
#define HG_SHADOW_H

#include "base.h"
#include "group.h"

/* Powers of two, all of them: constants where they are known, so that what follows from them is, too. */
struct hg_shadow_shape {
    uint32_t granule; /* bytes of heap that a record stands for */
    uint32_t record;  /* bytes of a record */
    uint32_t leaf;    /* bytes of a leaf's records, a step or more */
};

#define HG_SHADOW_PARTS 16u
#define HG_SHADOW_PART_MASK ((uintptr_t)0xffff)
#define HG_SHADOW_LOWER_BITS 14u

struct hg_shadow {
    enum hg_kind kind; /* of its extents */
    struct hg_shadow_shape shape;
    uint32_t alone; /* so many leaves, at least, do not come in a group */
    uintptr_t *
        *upper;      /* -> lower table -> a leaf's address | a bit for each part that is reserved */
    uint32_t leaves; /* made so far */
    uint32_t parts;  /* reserved one by one, in leaves of their own */
    struct hg_group group;
};

/* Bytes of heap, as a power of two, that a leaf covers. */
HG_INLINE uint32_t hg_shadow_reach(struct hg_shadow_shape shape) {
    return shape.granule + shape.leaf - shape.record;
}

/* Of a part. */
HG_INLINE uintptr_t hg_shadow_part_reach(struct hg_shadow_shape shape) {
    return ((uintptr_t)1 << hg_shadow_reach(shape)) / HG_SHADOW_PARTS;
}

/* Where in its leaf the record of `address` is, in bytes. */
HG_INLINE uint32_t hg_shadow_offset(struct hg_shadow_shape shape, uintptr_t address) {
    return (uint32_t)(address >> shape.granule << shape.record) & ((1u << shape.leaf) - 1);
}

/* The record of `address`, or NULL where nothing was ever reserved. */
HG_INLINE void *hg_shadow_find_by(const struct hg_shadow *shadow, struct hg_shadow_shape shape,
                                  uintptr_t address) {
    uintptr_t number = address >> hg_shadow_reach(shape);
    if (HG_UNLIKELY(address >> HG_ADDRESS_BITS)) return NULL;
    uintptr_t *lower = hg_load_acquire(&shadow->upper[number >> HG_SHADOW_LOWER_BITS]);
    if (HG_UNLIKELY(!lower)) return NULL;
    uintptr_t leaf = hg_load_acquire(&lower[number & ((1u << HG_SHADOW_LOWER_BITS) - 1)]);
    uint32_t offset = hg_shadow_offset(shape, address);
    if (HG_UNLIKELY(!(leaf >> offset / ((1u << shape.leaf) / HG_SHADOW_PARTS) & 1))) return NULL;
    return (uint8_t *)(leaf & ~HG_SHADOW_PART_MASK) + offset;
}

HG_INLINE void *hg_shadow_find(const struct hg_shadow *shadow, uintptr_t address) {
    return hg_shadow_find_by(shadow, shadow->shape, address);
}

/* Fresh; false: the kernel refused memory. */
bool hg_shadow_start(struct hg_shadow *shadow, enum hg_kind kind, struct hg_shadow_shape shape,
                     uint32_t alone);

/* The record of `address`, below 2^HG_ADDRESS_BITS, reserved now if it was not; NULL: no room. */
void *hg_shadow_reserve(struct hg_shadow *shadow, uintptr_t address);

/* Show every part that is reserved: its records, all words of which are 64 bits. */
void hg_shadow_each(const struct hg_shadow *shadow,
                    void (*see)(void *to, const uint64_t *records, size_t words), void *to);

#endif
