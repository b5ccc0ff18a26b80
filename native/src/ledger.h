/* The ledger: every live block's size, site and birth, by address.
 *
 * Small blocks stand in a shadow of the heap (ledger.h): an 8-byte record per granule of 32 bytes, or 16.
 * Middle ones, from 1 KiB on, stand in one with a granule of 1 KiB, whose records say where in it they
 * start: a 64th of the heap in place of a quarter; but where the first one is reserved anyway they stand
 * in that. Large ones, whose leaf would be mostly empty, stand in an open table (large.h). A record is
 * taken before the real free: afterwards the address may be another
 * thread's. No locks: while a block is live its record belongs to whoever owns the block. */
#ifndef HG_LEDGER_H
#define HG_LEDGER_H

#include "base.h"
#include "table.h"

/* ---- shadow ------------------------------------------------------------------------------------ */

/* A shadow of the heap: a record for each granule of addresses, in leaves that are made where the heap is.
 *
 * A leaf is found through a two-level table. Of its 16 parts each is reserved when the first record in it is
 * needed; a heap that grows densely gets its further leaves in groups, whole. Lock-free. */

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

/* ---- ledger ------------------------------------------------------------------------------------ */

struct hg_block {
    uint64_t size;  /* requested */
    uint32_t site;  /* never 0 */
    uint32_t birth; /* birth code */
};

#define HG_LEDGER_SMALL_LIMIT (1u << HG_LEDGER_SIZE_BITS)

/* A small block's record as one word; 0: none. See format.h. */
#define HG_LEDGER_BIRTH_SHIFT (HG_LEDGER_SIZE_BITS + HG_LEDGER_HALF_BITS)
#define HG_LEDGER_SITE_SHIFT (HG_LEDGER_BIRTH_SHIFT + HG_LEDGER_BIRTH_BITS)

HG_INLINE struct hg_block hg_ledger_unpack(uint64_t word) {
    return (struct hg_block){
        .size = word & (HG_LEDGER_SMALL_LIMIT - 1),
        .site = (uint32_t)(word >> HG_LEDGER_SITE_SHIFT),
        .birth = (uint32_t)(word >> HG_LEDGER_BIRTH_SHIFT) & ((1u << HG_LEDGER_BIRTH_BITS) - 1),
    };
}

/* Records of one part of a shadow of small blocks. */
#define HG_LEDGER_PART_SHIFT 11u
#define HG_LEDGER_PART_RECORDS (1u << HG_LEDGER_PART_SHIFT)
_Static_assert(HG_LEDGER_PART_RECORDS *HG_SHADOW_PARTS == HG_LEDGER_RECORDS, "parts of a leaf");
/* Of one of middle blocks. */
#define HG_MIDDLE_PART_SHIFT 10u
#define HG_MIDDLE_PART_RECORDS (1u << HG_MIDDLE_PART_SHIFT)
_Static_assert(HG_MIDDLE_PART_RECORDS *HG_SHADOW_PARTS == HG_MIDDLE_RECORDS, "parts of a leaf");

struct hg_ledger {
    struct hg_shadow small;
    struct hg_shadow middle;
    uint32_t granule_shift; /* of `small` */
    uint32_t least;         /* hg_ledger_least() of it */
    bool suspect;           /* a free went unseen: see hg_ledger_suspect() */
};
HG_GLOBAL struct hg_ledger g_ledger;

HG_INLINE struct hg_shadow_shape hg_ledger_small_shape(uint32_t shift) {
    return (struct hg_shadow_shape){shift, 3, 18};
}
#define HG_LEDGER_MIDDLE_SHAPE ((struct hg_shadow_shape){HG_MIDDLE_SHIFT, 4, 18})

/* glibc's granule, and that of all other allocators: constants, so that the shifts below are too. */
#define HG_LEDGER_USUAL_SHIFT 5u
#define HG_LEDGER_OTHER_SHIFT 4u

/* Other allocators' smallest blocks are 8 bytes apart, so two may start in one granule; larger ones
 * never do. What may be so small stands among the large blocks: it is rare, and a shadow twice as
 * dense would cost every program twice the memory. */
#define HG_LEDGER_TINY 8u

/* The smallest size that the shadow takes. */
HG_INLINE uint64_t hg_ledger_least(uint32_t shift) {
    return shift == HG_LEDGER_OTHER_SHIFT ? HG_LEDGER_TINY + 1 : 0;
}

/* A birth code where it stands in a record. */
HG_INLINE uint64_t hg_ledger_birth_bits(uint32_t birth) {
    return (uint64_t)birth << HG_LEDGER_BIRTH_SHIFT;
}
#define HG_LEDGER_BIRTH_MASK (((UINT64_C(1) << HG_LEDGER_BIRTH_BITS) - 1) << HG_LEDGER_BIRTH_SHIFT)

/* `birth` as hg_ledger_birth_bits() gives it. */
HG_INLINE uint64_t hg_ledger_word(uint32_t shift, uintptr_t address, uint64_t size, uint64_t birth,
                                  uint32_t site) {
    uint64_t half = address >> (shift - 1) & 1;
    return size | half << HG_LEDGER_SIZE_BITS | birth | (uint64_t)site << HG_LEDGER_SITE_SHIFT;
}

HG_INLINE uint64_t hg_ledger_pack_by(uint32_t shift, uintptr_t address, struct hg_block block) {
    return hg_ledger_word(shift, address, block.size, hg_ledger_birth_bits(block.birth),
                          block.site);
}

/* Whether the block that the record of an address tells of starts at that very address. */
HG_INLINE bool hg_ledger_is_at(uint32_t shift, uintptr_t address, uint64_t word) {
    return (address >> (shift - 1) & 1) == (word >> HG_LEDGER_SIZE_BITS & 1);
}

/* The record of `address` among small blocks, or NULL where nothing was ever reserved. */
HG_INLINE uint64_t *hg_ledger_find_by(uint32_t shift, uintptr_t address) {
    return hg_shadow_find_by(&g_ledger.small, hg_ledger_small_shape(shift), address);
}

/* Likewise of the granule of middle blocks that `address` is in. */
HG_INLINE struct hg_middle *hg_ledger_find_middle(uintptr_t address) {
    return hg_shadow_find_by(&g_ledger.middle, HG_LEDGER_MIDDLE_SHAPE, address);
}

/* Parts of the ledger that a thread came by lately: reserved, and they never move. Above glibc
 * addresses a GiB apart share a place: the heaps that it makes for further threads begin 64 MiB apart. */
#define HG_LEDGER_VIEW_BITS 14u
#define HG_LEDGER_VIEWS (1u << HG_LEDGER_VIEW_BITS)
#define HG_MIDDLE_VIEW_BITS 10u /* likewise */
#define HG_MIDDLE_VIEWS (1u << HG_MIDDLE_VIEW_BITS)

struct hg_ledger_view {
    uintptr_t back; /* minus the part's first address: what is added tells how far inside it is */
    void *records;
};
struct hg_ledger_views {
    struct hg_ledger_view small[HG_LEDGER_VIEWS];
    struct hg_ledger_view middle[HG_MIDDLE_VIEWS];
};

/* No view is of this part. Nor is a view of zeroes of any, but the first: there no block at all, NULL,
 * would be. With that made one of no part nobody has to ask for NULL. */
#define HG_LEDGER_NO_PART (UINTPTR_MAX / 2 + 1)

HG_INLINE void hg_ledger_look_away(struct hg_ledger_views *views) {
    views->small[0].back = views->middle[0].back = HG_LEDGER_NO_PART;
}

HG_INLINE uintptr_t hg_ledger_part_bytes(uint32_t shift) {
    return (uintptr_t)1 << (shift + HG_LEDGER_PART_SHIFT);
}

/* The view that `address` would be in. */
HG_INLINE struct hg_ledger_view *hg_ledger_view(struct hg_ledger_views *views, uint32_t shift,
                                                uintptr_t address) {
    return &views->small[address >> (shift + HG_LEDGER_PART_SHIFT) & (HG_LEDGER_VIEWS - 1)];
}
HG_INLINE struct hg_ledger_view *hg_ledger_middle_view(struct hg_ledger_views *views,
                                                       uintptr_t address) {
    uintptr_t part = address >> (HG_MIDDLE_SHIFT + HG_MIDDLE_PART_SHIFT);
    return &views->middle[part & (HG_MIDDLE_VIEWS - 1)];
}

/* The record of `address`, if it is in view. */
HG_INLINE bool hg_ledger_see(struct hg_ledger_views *views, uint32_t shift, uintptr_t address,
                             uint64_t **record) {
    const struct hg_ledger_view *view = hg_ledger_view(views, shift, address);
    uint64_t *records = hg_glance(&view->records);
    hg_in_order(); /* a signal handler that looks elsewhere changes the other word, too */
    uintptr_t granule = (address + hg_glance(&view->back)) >> shift;
    *record = records + granule;
    return HG_LIKELY(granule < HG_LEDGER_PART_RECORDS);
}

/* Likewise among middle blocks. */
HG_INLINE bool hg_ledger_see_middle(struct hg_ledger_views *views, uintptr_t address,
                                    struct hg_middle **record) {
    const struct hg_ledger_view *view = hg_ledger_middle_view(views, address);
    struct hg_middle *records = hg_glance(&view->records);
    hg_in_order();
    uintptr_t granule = (address + hg_glance(&view->back)) >> HG_MIDDLE_SHIFT;
    *record = records + granule;
    return HG_LIKELY(granule < HG_MIDDLE_PART_RECORDS);
}

HG_INLINE void hg_ledger_turn(struct hg_ledger_view *view, uintptr_t start, void *records) {
    if (!records || !start) return;
    /* At no instant one part's address with another's records. */
    hg_store(&view->back, HG_LEDGER_NO_PART);
    hg_in_order();
    hg_store(&view->records, records);
    hg_in_order();
    hg_store(&view->back, -start);
}

HG_INLINE uint64_t hg_ledger_pack(uintptr_t address, struct hg_block block) {
    return hg_ledger_pack_by(g_ledger.granule_shift, address, block);
}

HG_INLINE uint64_t *hg_ledger_find(uintptr_t address) {
    return hg_ledger_find_by(g_ledger.granule_shift, address);
}

/* Whether one of the shadows may hold a block at `address`. */
HG_INLINE bool hg_ledger_may_hold(uintptr_t address) {
    const uint64_t *record = hg_ledger_find(address);
    if (record && hg_load(record)) return true;
    const struct hg_middle *middle = hg_ledger_find_middle(address);
    return middle && hg_load(&middle->record) && hg_load(&middle->address) == address;
}

HG_INLINE bool hg_ledger_is_middle(uint64_t size) {
    return size - HG_MIDDLE_LEAST < HG_LEDGER_SMALL_LIMIT - HG_MIDDLE_LEAST;
}

/* Bring the parts that a block of this size may be in into view, where they are reserved, and not the
 * first. */
HG_INLINE void hg_ledger_look_at(struct hg_ledger_views *views, uintptr_t address, uint64_t size) {
    uint32_t shift = g_ledger.granule_shift;
    uintptr_t start = address & ~(hg_ledger_part_bytes(shift) - 1);
    hg_ledger_turn(hg_ledger_view(views, shift, address), start, hg_ledger_find_by(shift, start));
    if (HG_LIKELY(!hg_ledger_is_middle(size))) return;
    start = address & ~(hg_shadow_part_reach(HG_LEDGER_MIDDLE_SHAPE) - 1);
    hg_ledger_turn(hg_ledger_middle_view(views, address), start, hg_ledger_find_middle(start));
}

/* Whether blocks of this size stand in a shadow, not among the large ones. */
HG_INLINE bool hg_ledger_is_shadowed(uint64_t size) {
    return size < HG_LEDGER_SMALL_LIMIT && size >= g_ledger.least;
}

/* Fresh ledger for an allocator of whose blocks at most one starts in 1 << granule_shift bytes, but for
 * tiny ones. */
bool hg_ledger_start(uint32_t granule_shift);

/* Enter a block. False: no room. *replaced is the block that still stood at this address (its
 * free was not seen), site 0 if none. */
bool hg_ledger_put(uintptr_t address, struct hg_block block, struct hg_block *replaced);

/* The same, among the large blocks whatever its size. */
bool hg_ledger_put_apart(uintptr_t address, struct hg_block block, struct hg_block *replaced);

/* A free went unseen (it came from a signal handler inside a hook): from now on every put looks for
 * what still stands at its address also among the large blocks. */
void hg_ledger_suspect(void);

/* Remove and return the block at `address`; site 0 when there is none. */
struct hg_block hg_ledger_take(uintptr_t address);

/* Show every live block, while others come and go. */
void hg_ledger_each(void (*see)(void *to, struct hg_block block), void *to);

#endif
